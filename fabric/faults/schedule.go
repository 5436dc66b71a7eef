package faults

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/remora-kv/remora/fabric"
)

// Event is one operation that was struck.
type Event struct {
	// QP is the index of the queue pair, -1 for Dial and Accept.
	QP int
	// Op is the number of the operation on its queue pair, or of the attempt.
	Op uint64
	// Fault is what was done, by rule Rule of the plan; -1 is Device.Cut.
	Fault Fault
	Rule  int
	// Transport and Verb are those of the operation; Status is how it failed
	// (Break, Lose, and Cut on RC); Time how long it was held.
	Transport fabric.Transport
	Verb      fabric.Op
	Status    fabric.Status
	Time      time.Duration
}

// String describes the event in one line.
func (e Event) String() string { return e.text(At(e.Op)) }

// text describes a row of events that differ in their operation only.
func (e Event) text(ops Span) string {
	if e.QP < 0 {
		return fmt.Sprintf("attempt %v: %v", ops, e.Fault)
	}
	s := fmt.Sprintf("qp %d op %v: %v %v %v", e.QP, ops, e.Transport, e.Verb, e.Fault)
	if e.Status != fabric.StatusOK {
		s += ": " + e.Status.String()
	}
	if e.Time != 0 {
		s += " " + e.Time.String()
	}
	if e.Rule < 0 {
		s += " (by hand)"
	}
	return s
}

// Schedule is what was done to which operation, sorted by queue pair and
// operation: equal for equal runs (F1).
type Schedule struct {
	// Plan is the plan in text, for ParsePlan.
	Plan   string
	Events []Event
	// More counts events that were not kept: a device keeps the first 16384
	// of each queue pair.
	More uint64
}

// String lists the schedule, the plan first. Events of the same kind that
// struck one operation after the other are one line.
func (s Schedule) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "faults: plan %q\n", s.Plan)
	for i := 0; i < len(s.Events); {
		e, n := s.Events[i], uint64(1)
		for next := e; i+int(n) < len(s.Events); n++ {
			if next.Op = e.Op + n; s.Events[i+int(n)] != next {
				break
			}
		}
		fmt.Fprintf(&b, "  %s\n", e.text(Span{e.Op, e.Op + n}))
		i += int(n)
	}
	if s.More > 0 {
		fmt.Fprintf(&b, "  and %d more\n", s.More)
	}
	return b.String()
}

// maxEvents is how many events a journal keeps.
const maxEvents = 1 << 14

// journal is the events of one queue pair, or of the attempts of a device.
type journal struct {
	mu     sync.Mutex
	events []Event
	more   uint64
}

func (j *journal) add(e Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.events) == maxEvents {
		j.more++
		return
	}
	j.events = append(j.events, e)
}

func (j *journal) addTo(s *Schedule) {
	j.mu.Lock()
	defer j.mu.Unlock()
	s.Events = append(s.Events, j.events...)
	s.More += j.more
}

// Schedule returns what was done so far.
func (d *Device) Schedule() Schedule {
	s := Schedule{Plan: d.plan.String()}
	d.attempts.addTo(&s)
	d.mu.Lock()
	journals := slices.Clone(d.journals)
	d.mu.Unlock()
	for _, j := range journals {
		j.addTo(&s)
	}
	slices.SortStableFunc(s.Events, func(a, b Event) int {
		return cmp.Or(cmp.Compare(a.QP, b.QP), cmp.Compare(attempt(a), attempt(b)), cmp.Compare(a.Op, b.Op))
	})
	return s
}

// attempt keeps dials and accepts apart, which are numbered separately.
func attempt(e Event) Fault {
	if e.QP < 0 {
		return e.Fault
	}
	return 0
}

// Stats counts what was done, over all queue pairs.
type Stats struct {
	// Struck counts operations (for the last two, attempts) by fault.
	Struck map[Fault]uint64
	// Rushed counts messages that went out unharmed although a rule struck
	// them, because there was no memory to hold them. They are in Struck.
	Rushed uint64
}

type stats struct {
	struck [numFaults]atomic.Uint64
	rushed atomic.Uint64
}

// Stats returns the counts so far.
func (d *Device) Stats() Stats {
	s := Stats{Struck: map[Fault]uint64{}, Rushed: d.stats.rushed.Load()}
	for f := range d.stats.struck {
		if n := d.stats.struck[f].Load(); n > 0 {
			s.Struck[Fault(f)] = n
		}
	}
	return s
}
