package figures

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"

	"github.com/remora-kv/remora/bench/perf"
)

// columns are those of every CSV file. What was not measured has the parameters
// of its point, empty results, and a reason in the last one.
var columns = []string{
	"figure", "series", "x", "test", "fabric", "transport", "reply_transport", "size", "inline", "signaled", "window",
	"threads", "queue_pairs", "accesses", "prefetch", "table_bytes",
	"trials", "ops_per_sec", "p50_us", "p99_us", "mean_us", "spread_pct", "lost", "not_measured",
}

// WriteCSV writes a row for every point of the plan (R1).
func (m *Measured) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	if err := out.Write(columns); err != nil {
		return err
	}
	for i := range m.Outcomes {
		if err := out.Write(m.record(&m.Outcomes[i])); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// record is the row of a point.
func (m *Measured) record(o *Outcome) []string {
	head := []string{strconv.Itoa(m.Number), o.Series, o.place()}
	row := o.median(m.Y)
	if row == nil {
		return append(append(head, missing(&o.Config)...), o.reason())
	}
	return append(append(head, measured(row)...),
		strconv.Itoa(len(o.Rows)), decimal(row.OpsPerSec), decimal(row.P50), decimal(row.P99), decimal(row.Mean),
		fmt.Sprintf("%.1f", 100*o.spread(m.Y)), strconv.FormatUint(row.Lost, 10), "")
}

// reason says why there are no trials.
func (o *Outcome) reason() string {
	switch {
	case o.Reason != "":
		return o.Reason
	case len(o.Failures) != 0:
		return o.Failures[0]
	}
	return "the run ended before its turn"
}

// measured are the parameters that a row was measured with.
func measured(r *perf.Row) []string {
	return []string{
		r.Test, r.Fabric, r.Transport, r.ReplyTransport, strconv.Itoa(r.Size),
		strconv.FormatBool(r.Inline), strconv.FormatBool(r.Signaled), strconv.Itoa(r.Window),
		strconv.Itoa(r.Threads), strconv.Itoa(r.Threads * r.QPs), strconv.Itoa(r.Accesses), r.Prefetch, strconv.Itoa(r.TableBytes),
	}
}

// missing are the parameters that were asked for, and no results: only what a
// configuration says by itself.
func missing(c *perf.Config) []string {
	blank := make([]string, len(columns)-len([]string{"figure", "series", "x", "not_measured"}))
	blank[0], blank[1], blank[2], blank[3] = c.Tests[0], c.Fabric, c.Transport, c.ReplyTransport
	if len(c.Sizes) == 1 {
		blank[4] = strconv.Itoa(c.Sizes[0])
	}
	return blank
}

func decimal(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }
