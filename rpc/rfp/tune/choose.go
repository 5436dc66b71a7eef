package tune

import (
	"cmp"
	"slices"
	"sort"
	"time"
)

// Choice is a pair of parameters.
type Choice struct {
	// R is rfp.Params.Retries, F is its FetchSize.
	R, F int
}

// Row is a candidate and what the model says about it.
type Row struct {
	Choice
	// Rate is the mean of T(i): results per second.
	Rate float64
	// OneRead is the share of the frames that fit F.
	OneRead float64
	// Fetched is the share of the results that R READs cover.
	Fetched float64
	// Reads is the mean number of READs for a result that is fetched.
	Reads float64

	// quick is the rate of results that one READ covers, were there any.
	quick float64
}

// order puts the better one first (U1). Where nothing is fetched F has no part in
// the sum; then it is the best for what may be fetched after all.
func order(a, b *Row) int {
	return cmp.Or(cmp.Compare(b.Rate, a.Rate), cmp.Compare(b.quick, a.quick), cmp.Compare(a.F, b.F), cmp.Compare(a.R, b.R))
}

// Choose enumerates all candidates. It returns the best one and all of them, best
// first (U1). An empty sample leaves the choice to the hardware.
func Choose(p *Profile, s *Sample) (Choice, []Row) {
	v := newView(p, s)
	rows := make([]Row, 0, (p.H-p.L+1)*p.N)
	for f := p.L; f <= p.H; f++ {
		rows = v.appendRows(rows, f, p.N)
	}
	slices.SortFunc(rows, func(a, b Row) int { return order(&a, &b) })
	return rows[0].Choice, rows
}

// Evaluate says what the model thinks of a single pair, also outside of the
// bounds of the profile. It panics when one of the two is less than 1.
func Evaluate(p *Profile, s *Sample, c Choice) Row {
	if c.R < 1 || c.F < 1 {
		panic("tune: R and F are at least 1")
	}
	rows := newView(p, s).appendRows(nil, c.F, c.R)
	return rows[len(rows)-1]
}

// view is a sample prepared for many questions.
type view struct {
	p     *Profile
	fit   []uint64 // by length: frames that are not longer
	total uint64
	reply float64 // mean rate of replies of these sizes

	ends  []time.Duration // of the steps of time that occur, ascending
	upTo  []uint64        // how many times are not longer
	timed uint64
}

func newView(p *Profile, s *Sample) *view {
	v := &view{p: p, fit: make([]uint64, len(s.frames)), total: s.results, timed: s.timed}
	var sum uint64
	for n, c := range s.frames {
		sum += uint64(c)
		v.fit[n] = sum
		if c != 0 {
			v.reply += float64(c) / float64(s.results) * p.Reply(n)
		}
	}
	if sum == 0 {
		v.reply = p.Reply(p.L)
	}
	sum = 0
	for step, c := range s.times {
		if c != 0 {
			sum += uint64(c)
			v.ends, v.upTo = append(v.ends, endOf(step)), append(v.upTo, sum)
		}
	}
	return v
}

// oneRead is the share of the frames that f bytes bring whole.
func (v *view) oneRead(f int) float64 {
	if v.total == 0 {
		return 1
	}
	return float64(v.fit[min(f, MaxFetch)]) / float64(v.total)
}

// covered is the share of the results that k READs of the given time cover.
func (v *view) covered(k int, read time.Duration) float64 {
	if v.timed == 0 {
		return float64(min(k, v.p.N)) / float64(v.p.N)
	}
	limit := time.Duration(k) * read
	i := sort.Search(len(v.ends), func(i int) bool { return v.ends[i] > limit })
	if i == 0 {
		return 0
	}
	return float64(v.upTo[i-1]) / float64(v.timed)
}

// appendRows appends the candidates with F = f and R from 1 to n.
func (v *view) appendRows(rows []Row, f, n int) []Row {
	one, read := v.oneRead(f), v.p.ReadTime(f)
	half := one + (1-one)/2
	quick := half * v.p.Rate(1, f)
	fetched, rate, reads := 0.0, 0.0, 0.0
	for r := 1; r <= n; r++ {
		// What r READs cover and r-1 do not; exactly 0 if there is nothing (U2).
		before := fetched
		fetched = v.covered(r, read)
		more := fetched - before
		rate += more * half * v.p.Rate(r, f)
		reads += more * float64(r)
		row := Row{
			Choice: Choice{R: r, F: f}, OneRead: one, Fetched: fetched,
			Rate: rate + (1-fetched)*v.reply, quick: quick,
		}
		if fetched > 0 {
			row.Reads = reads/fetched + 1 - one
		}
		rows = append(rows, row)
	}
	return rows
}
