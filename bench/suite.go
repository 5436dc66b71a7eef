package bench

import (
	"context"
	"fmt"
	"runtime"
)

// Teller says where a run is.
type Teller struct {
	// To, when not nil, is called before every case and trial.
	To func(Progress)
	// Trials is how often each case is measured.
	Trials int
	now    Progress
}

// Tell says that a trial of the case begins, from 1; 0 is connecting and warming
// up.
func (t *Teller) Tell(trial int) {
	if t.To != nil {
		t.now.Trial = trial
		t.To(t.now)
	}
}

// RunAll measures case after case until one fails. What a case does to GOMAXPROCS ends
// with the run.
func RunAll[C any, P interface {
	*C
	Title() string
}](ctx context.Context, t *Teller, cases []C, measure func(context.Context, P) error,
) error {
	procs := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(procs)
	for i := range cases {
		c := P(&cases[i])
		t.now = Progress{Case: i + 1, Cases: len(cases), Trials: t.Trials, Name: c.Title()}
		if err := measure(ctx, c); err != nil {
			if ctx.Err() != nil {
				err = ctx.Err()
			}
			return fmt.Errorf("%s: %w", c.Title(), err)
		}
	}
	return nil
}
