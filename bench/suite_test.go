package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/remora-kv/remora/fabric/provider"
)

func TestLimits(t *testing.T) {
	if lim, err := FabricLimits(provider.New(), "loop"); err != nil || lim.MaxDepth == 0 {
		t.Errorf("limits of loop: %+v, %v", lim, err)
	}
	if _, err := FabricLimits(provider.New(), "ether"); !errors.Is(err, ErrUsage) {
		t.Errorf("an unknown fabric gave %v", err)
	}
}

type named struct{ name string }

func (c *named) Title() string { return c.name }

func TestRunAll(t *testing.T) {
	var told []string
	teller := Teller{Trials: 1, To: func(p Progress) {
		told = append(told, fmt.Sprintf("%s %d/%d %d/%d", p.Name, p.Case, p.Cases, p.Trial, p.Trials))
	}}
	cases := []named{{"a"}, {"b"}, {"c"}}
	broken := errors.New("broken")
	err := RunAll(t.Context(), &teller, cases, func(_ context.Context, c *named) error {
		teller.Tell(0)
		teller.Tell(1)
		if c.name == "b" {
			return broken
		}
		return nil
	})
	if !errors.Is(err, broken) || err.Error() != "b: broken" {
		t.Errorf("a case that failed gave %v", err)
	}
	if want := []string{"a 1/3 0/1", "a 1/3 1/1", "b 2/3 0/1", "b 2/3 1/1"}; !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}

// What a cancelled case fails with is a consequence.
func TestRunAllCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	err := RunAll(ctx, &Teller{}, []named{{"a"}}, func(context.Context, *named) error {
		cancel()
		return errors.New("stopped")
	})
	if !errors.Is(err, context.Canceled) || err.Error() != "a: context canceled" {
		t.Errorf("a cancelled run gave %v", err)
	}
}
