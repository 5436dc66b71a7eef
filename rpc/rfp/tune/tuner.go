package tune

import "time"

// TunerConfig describes a Tuner. Zero values mean the defaults.
type TunerConfig struct {
	// Period is the time between two decisions; default 1 s.
	Period time.Duration
	// Gain is how much better a choice must be than the one in use; default
	// 0.05, which is 5 %.
	Gain float64
	// Confirm is in how many periods in a row it must be; default 2.
	Confirm int
	// Results is how many results make a sample; default 1000. A period with
	// less goes on.
	Results uint64
}

func (c *TunerConfig) setDefaults() {
	if c.Period == 0 {
		c.Period = time.Second
	}
	if c.Gain == 0 {
		c.Gain = 0.05
	}
	if c.Confirm == 0 {
		c.Confirm = 2
	}
	if c.Results == 0 {
		c.Results = 1000
	}
}

// Tuner follows a running application: it is given results and process times and
// decides again every period (U6). What was recorded in earlier periods counts
// half as much in each later one.
type Tuner struct {
	cfg     TunerConfig
	profile *Profile
	sample  Sample
	now     Choice
	next    time.Duration // when to decide
	begun   bool
	wins    int // periods in a row in which something else was better
}

// NewTuner returns a tuner for an application that now works with the given
// choice. It panics when R or F of it is less than 1, or the configuration is
// negative.
func NewTuner(p *Profile, now Choice, cfg TunerConfig) *Tuner {
	if now.R < 1 || now.F < 1 || cfg.Period < 0 || cfg.Gain < 0 || cfg.Confirm < 0 {
		panic("tune: R and F are at least 1, and nothing in a TunerConfig is negative")
	}
	cfg.setDefaults()
	return &Tuner{cfg: cfg, profile: p, now: now}
}

// Sample is where to record.
func (t *Tuner) Sample() *Sample { return &t.sample }

// Choice is what the tuner believes to be in use.
func (t *Tuner) Choice() Choice { return t.now }

// Decide is called with the time on any clock that does not go back, as often as
// is convenient. When a period is over it decides, and returns true with a new
// choice if it is worth the change.
func (t *Tuner) Decide(now time.Duration) (Choice, bool) {
	if !t.begun {
		t.begun, t.next = true, now+t.cfg.Period
	}
	if now < t.next || t.sample.results < t.cfg.Results {
		return t.now, false
	}
	t.next = now + t.cfg.Period
	best, inUse := t.best()
	t.sample.Age()
	if best.Rate <= (1+t.cfg.Gain)*inUse.Rate {
		t.wins = 0
		return t.now, false
	}
	if t.wins++; t.wins < t.cfg.Confirm {
		return t.now, false
	}
	t.now, t.wins = best.Choice, 0
	return t.now, true
}

// best is the row that Choose would put first, without a table of all, and the
// row of what is in use.
func (t *Tuner) best() (best, now Row) {
	v := newView(t.profile, &t.sample)
	var rows []Row
	for f := t.profile.L; f <= t.profile.H; f++ {
		rows = v.appendRows(rows[:0], f, t.profile.N)
		for i := range rows {
			if best.R == 0 || order(&rows[i], &best) < 0 {
				best = rows[i]
			}
		}
	}
	rows = v.appendRows(rows[:0], t.now.F, t.now.R)
	return best, rows[len(rows)-1]
}
