package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/remora-kv/remora/rpc/rfp/tune"
)

// defaultChoice is what a client of rfp works with by default, which is
// also what the paper chose for its hardware.
func defaultChoice() tune.Choice { return tune.Choice{R: 5, F: 256} }

// tuneReport is what tune has found.
type tuneReport struct {
	path     string // of the profile
	profile  *tune.Profile
	readings []tune.Reading // nil if the profile was there
	sample   *tune.Sample   // nil if there is none
	rows     int            // to show; 0: all
}

// candidates are the rows to show, best first: the first ones of those at which F
// means something, a size of the profile or the end of a frame.
func (r *tuneReport) candidates() []tune.Row {
	_, all := tune.Choose(r.profile, r.sample)
	if r.rows == 0 {
		return all
	}
	fit := map[int]float64{}
	for _, row := range all {
		fit[row.F] = row.OneRead
	}
	for _, q := range r.profile.Points {
		fit[q.F-1] = -1
	}
	shown := []tune.Row{all[0]}
	for _, row := range all[1:] {
		if len(shown) < r.rows && fit[row.F-1] != row.OneRead {
			shown = append(shown, row)
		}
	}
	return shown
}

// candidateLine is a candidate in JSON.
type candidateLine struct {
	Fabric  string  `json:"fabric"`
	R       int     `json:"r"`
	F       int     `json:"f"`
	PerSec  float64 `json:"results_per_sec"`
	OneRead float64 `json:"one_read"`
	Fetched float64 `json:"fetched"`
	Reads   float64 `json:"reads_per_result"`
	Winner  bool    `json:"winner"`
}

// profileLine is a point of a profile in JSON.
type profileLine struct {
	Fabric string  `json:"fabric"`
	R      int     `json:"r"`
	F      int     `json:"f"`
	PerSec float64 `json:"results_per_sec"`
	ReadNs int64   `json:"read_ns"`
	Reply  float64 `json:"reply_per_sec"`
}

func (r *tuneReport) writeJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	if r.sample == nil {
		for _, q := range r.profile.Points {
			for i, rate := range q.Rates {
				if err := e.Encode(profileLine{r.profile.Fabric, i + 1, q.F, rate, int64(q.ReadTime), q.Reply}); err != nil {
					return err
				}
			}
		}
		return nil
	}
	for i, row := range r.candidates() {
		line := candidateLine{r.profile.Fabric, row.R, row.F, row.Rate, row.OneRead, row.Fetched, row.Reads, i == 0}
		if err := e.Encode(line); err != nil {
			return err
		}
	}
	return nil
}

func (r *tuneReport) writeText(w io.Writer) error {
	var b strings.Builder
	p := r.profile
	saved := ""
	if r.readings != nil {
		saved = " (saved)"
		r.writeCurve(&b)
	}
	fmt.Fprintf(&b, "profile: %s, %s on %s\n", p.Fabric, p.Date.Format("2006-01-02 15:04"), p.Machine)
	fmt.Fprintf(&b, "file:    %s%s\n", r.path, saved)
	fmt.Fprintf(&b, "bounds:  F in [L,H] = [%d,%d] bytes, R in [1,N] = [1,%d]\n\n", p.L, p.H, p.N)
	if r.sample == nil {
		r.writeProfile(&b)
	} else {
		r.writeChoice(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeCurve writes what was measured just now.
func (r *tuneReport) writeCurve(b *strings.Builder) {
	t := table(b)
	fmt.Fprint(t, "size\tREADs/s\tone READ\treplies/s\t\n")
	for _, m := range r.readings {
		replies, mark := "-", ""
		if m.Replies != 0 {
			replies = rate(m.Replies)
		}
		if m.Size == r.profile.L {
			mark = " <- L"
		}
		if m.Size == r.profile.H {
			mark += " <- H"
		}
		fmt.Fprintf(t, "%d\t%s\t%v\t%s\t%s\n", m.Size, rate(m.Reads), m.ReadTime, replies, mark)
	}
	_ = t.Flush() // into memory
	b.WriteByte('\n')
}

// writeProfile writes I(R,F).
func (r *tuneReport) writeProfile(b *strings.Builder) {
	b.WriteString("I(R,F), results per second when each takes R READs of F bytes:\n\n")
	t := table(b)
	fmt.Fprint(t, "F\tone READ\treplies/s\t")
	for i := range r.profile.N {
		fmt.Fprintf(t, "R = %d\t", i+1)
	}
	fmt.Fprintln(t)
	for _, q := range r.profile.Points {
		fmt.Fprintf(t, "%d\t%v\t%s\t", q.F, q.ReadTime, rate(q.Reply))
		for _, v := range q.Rates {
			fmt.Fprintf(t, "%s\t", rate(v))
		}
		fmt.Fprintln(t)
	}
	_ = t.Flush() // into memory
	b.WriteString("\nTo choose, give a sample: --result-size or --sample.\n")
}

// writeChoice writes candidates and what to do with the first.
func (r *tuneReport) writeChoice(b *strings.Builder) {
	times := "process times not known: 1 to N READs equally likely"
	if n := r.sample.Times(); n != 0 {
		times = fmt.Sprintf("%d process times", n)
	}
	fmt.Fprintf(b, "sample:  %d results, %s\n\n", r.sample.Results(), times)
	rows := r.candidates()
	t := table(b)
	fmt.Fprint(t, "\tR\tF\tresults/s\tin one READ\tfetched\tREADs/result\t\n")
	line := func(mark string, row tune.Row) {
		fmt.Fprintf(t, "%s\t%d\t%d\t%s\t%.1f %%\t%.1f %%\t%.2f\t\n",
			mark, row.R, row.F, rate(row.Rate), 100*row.OneRead, 100*row.Fetched, row.Reads)
	}
	for i, row := range rows {
		mark := ""
		if i == 0 {
			mark = "*"
		}
		line(mark, row)
	}
	usual := tune.Evaluate(r.profile, r.sample, defaultChoice())
	line("default", usual)
	_ = t.Flush() // into memory
	best := rows[0]
	fmt.Fprintf(b, "\n* use rfp.Params{Retries: %d, FetchSize: %d}: %.2f times the results of the default\n", best.R, best.F, best.Rate/usual.Rate)
}

func table(b *strings.Builder) *tabwriter.Writer {
	return tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
}

// rate writes operations per second with three digits and a unit.
func rate(x float64) string {
	for _, u := range []struct {
		at   float64
		name string
	}{{1e6, " M"}, {1e3, " k"}} {
		if x >= u.at {
			return fmt.Sprintf("%.3g%s", x/u.at, u.name)
		}
	}
	return fmt.Sprintf("%.3g", x)
}
