package bench

import (
	"fmt"
	"time"
)

// Spent is what others than the benchmark have used of its CPUs, or kept from them, in a time
// that is Known.
type Spent struct{ Known, Others, Stolen time.Duration }

// spent is what was spent between the looks of a trial; nothing is known without all of what
// they see.
func (t *Trial) spent() (s Spent) {
	a, b := &t.Before, &t.After
	if a.CPUs == nil || b.CPUs == nil {
		return s
	}
	ours := b.Client - a.Client + b.Neighbours - a.Neighbours
	switch {
	case t.Remote:
	case a.Server != nil && b.Server != nil:
		ours += *b.Server - *a.Server
	case !t.Loop:
		return s
	}
	return Spent{Known: b.Time.Sub(a.Time), Others: b.CPUs.Busy - a.CPUs.Busy - ours, Stolen: b.CPUs.Stolen - a.CPUs.Stolen}
}

func (s *Spent) add(o Spent) {
	s.Known += o.Known
	s.Others += o.Others
	s.Stolen += o.Stolen
}

// share is that of one CPU, of which others had d.
func (s *Spent) share(d time.Duration) float64 {
	if s.Known < minLook {
		return 0
	}
	return float64(d) / float64(s.Known)
}

// doubt warns of a trial whose CPUs were not the benchmark's alone (D8); it is empty where they
// were, or nobody knows.
func (s *Spent) doubt() string {
	switch {
	case s.share(s.Others) > disturbed:
		return "the machine was not quiet: other processes used more than a tenth of a CPU in some trials; stop them and measure again"
	case s.share(s.Stolen) > disturbed:
		return "the machine was not quiet: its hypervisor took more than a tenth of a CPU in some trials; use --trials, or a machine of its own"
	}
	return ""
}

// reason is that not to trust a run in whose trials, all together, this was spent.
func (s *Spent) reason() string {
	switch {
	case s.share(s.Others) > disturbed:
		return fmt.Sprintf("other processes used %.2f of a CPU of the benchmark's during the trials", s.share(s.Others))
	case s.share(s.Stolen) > disturbed:
		return fmt.Sprintf("the hypervisor took %.2f of a CPU from the benchmark during the trials", s.share(s.Stolen))
	}
	return ""
}
