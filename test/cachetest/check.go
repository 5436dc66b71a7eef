package cachetest

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// pictureTime bounds the search whose steps the picture of a violation shows.
const pictureTime = 20 * time.Second

// Violation is a history that no order of its operations explains.
type Violation struct {
	Key string
	Why string
	// Operations are those of the key, by their start.
	Operations []Operation

	longest []int // the longest order that explains its operations
}

// shown is how many operations of a violation are written out on either side of where
// the longest order ends.
const shown = 40

// Error implements error.
func (v *Violation) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "key %s: %s", v.Key, v.Why)
	order := v.longest
	if from := len(order) - shown; from > 0 {
		fmt.Fprintf(&b, "\n  (%d operations, in an order that explains them)", from)
		order = order[from:]
	}
	for _, i := range order {
		fmt.Fprintf(&b, "\n  %v", &v.Operations[i])
	}
	left := v.left()
	fmt.Fprintf(&b, "\n  after which none of these %d can come next:", len(left))
	for _, o := range left[:min(shown, len(left))] {
		fmt.Fprintf(&b, "\n  %v", o)
	}
	fmt.Fprintf(&b, "\nkey %s: %s", v.Key, v.Why)
	return b.String()
}

// left returns the operations that are not in the longest order, by their start.
func (v *Violation) left() []*Operation {
	done := make([]bool, len(v.Operations))
	for _, i := range v.longest {
		done[i] = true
	}
	var left []*Operation
	for i := range v.Operations {
		if !done[i] {
			left = append(left, &v.Operations[i])
		}
	}
	return left
}

// Check returns a *Violation if a history is not linearizable, or if an operation
// in it failed for no reason that a client may have.
func Check(ops []Operation) error {
	keys := map[string][]Operation{}
	for _, o := range ops {
		switch {
		case o.Outcome.Status == Failed || o.Outcome.Status == TooLarge || o.Outcome.Status == OutOfMemory:
			return &Violation{Key: o.Call.Key, Why: "an operation failed", Operations: []Operation{o}}
		case o.Outcome.Status == Unavailable:
			continue
		case o.Outcome.Status == Unknown && (o.Call.Kind == Get || o.Call.Kind == Touch):
			continue // it changes nothing that is compared
		case o.Outcome.Status == Unknown:
			o.End = math.MaxInt64
		}
		keys[o.Call.Key] = append(keys[o.Call.Key], o)
	}
	for key, part := range keys {
		slices.SortStableFunc(part, func(a, b Operation) int { return cmp.Compare(a.Start, b.Start) })
		if v := checkKey(key, part); v != nil {
			return v
		}
	}
	return nil
}

// checkKey checks the history of one key.
func checkKey(key string, part []Operation) *Violation {
	s := newSearch(part)
	if s.run() {
		return nil
	}
	return &Violation{Key: key, Why: "no order of these operations explains their results", Operations: part, longest: s.longest}
}

// byPorcupine checks the history of one key by the search of Porcupine, which knows
// nothing of this model and so takes longer, and whose steps can be drawn.
func byPorcupine(part []Operation, limit time.Duration) (porcupine.CheckResult, porcupine.LinearizationInfo) {
	history := make([]porcupine.Operation, len(part))
	versions := told(part)
	for i := range part {
		o := &part[i]
		history[i] = porcupine.Operation{
			ClientId: o.Client, Input: placed(o, versions), Output: &o.Outcome, Call: o.Start, Return: o.End,
		}
	}
	return porcupine.CheckOperationsVerbose(model(), history, limit)
}

// Linearizable fails the test unless the history is linearizable, and leaves a page
// with a picture of it among the artifacts of the test.
func Linearizable(t testing.TB, ops []Operation) {
	t.Helper()
	err := Check(ops)
	if err == nil {
		return
	}
	t.Error(err)
	v, ok := err.(*Violation) //lint:ignore errorlint it is never wrapped
	if !ok || len(v.Operations) < 2 {
		return
	}
	path := filepath.Join(t.ArtifactDir(), "history.html")
	file, err := os.Create(path)
	if err != nil {
		t.Log(err)
		return
	}
	defer func() { _ = file.Close() }()
	_, info := byPorcupine(v.Operations, pictureTime)
	if err := porcupine.Visualize(model(), info, file); err != nil {
		t.Log(err)
	}
}
