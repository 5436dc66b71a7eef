package verbs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/host"
	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
)

// Case is one row to be measured: a test with every parameter fixed. It goes
// to the server process as it is.
type Case struct {
	Test           string
	Kind           kind
	Op             fabric.Op // of the pump
	Request, Reply fabric.Op // of an echo
	Fabric         string
	Transport      fabric.Transport
	ReplyTransport fabric.Transport // of an echo
	Size, Window   int
	Threads        int // of the client
	QPs            int // of each client thread
	Inline         bool
	Signaled       bool
	Poll           fabric.Policy
	OneLine        bool // request and reply of limit are one line
	// Accesses is how many lines of a table of Table bytes the server of an echo
	// loads for each request, and Prefetch whether it asks for them ahead.
	Accesses, Table int
	Prefetch        bool
	Placement       string
}

// sharing is what the CPUs of a case are shared with.
func (c *Case) sharing() host.Sharing { return bench.Sharing(c.Placement) }

// lanes returns the number of queue pairs.
func (c *Case) lanes() int { return c.Threads * c.QPs }

// inFlight is how many operations are in flight; 0: not all the time. An exchange of limit is
// so short that what its client does between two of them takes a part of the time, and one
// that is timed is not like the others (see mailbox).
func (c *Case) inFlight() int {
	if c.Kind == kindLimit && c.Window == 1 {
		return 0
	}
	return c.lanes() * c.Window
}

// mails reports whether replies have a queue pair of their own, for datagrams.
func (c *Case) mails() bool { return c.Kind == kindEcho && c.ReplyTransport != c.Transport }

// crowded reports whether all lanes of an end share one queue pair for datagrams,
// which reaches any number of peers: what one sends to many needs no more. Those
// who answer must know who asked, and have one for each.
func (c *Case) crowded() bool { return c.Kind == kindOutbound && c.Transport == fabric.UD }

// lossy reports whether a message may be lost.
func (c *Case) lossy() bool { return c.Transport != fabric.RC || c.mails() }

// bell reports whether an end that is target (the server for requests, the
// client for replies) of op polls memory and may sleep, so that it needs a bell.
func (c *Case) bell(op fabric.Op) bool {
	return (c.Kind == kindEcho || c.Kind == kindIdle) && op == fabric.OpWrite && c.Poll == fabric.Adaptive
}

// chain is how many messages in memory an end takes at most before it posts
// what they call for. Where Post itself executes an operation, the other end
// waits for the first while the last is looked for: measured with a window of
// 8, chains of 3 reach twice the rate of chains of 8. Where Post rings a
// doorbell or calls the kernel, one for many is cheaper.
func (c *Case) chain() int {
	if c.Fabric == provider.Loop || c.Fabric == provider.Shm {
		return max(1, 3*c.Window/8)
	}
	return c.Window
}

// plan expands the configuration into cases, checked against what the device
// can do. A part of the suite that the transport or the fabric cannot carry is
// left out; a test asked for by name is an error.
func (c *Config) plan(lim fabric.Limits) ([]Case, error) {
	transport, err := parseTransport(c.Transport)
	if err != nil {
		return nil, bench.UsageError(err)
	}
	var cases []Case
	var errs []error
	for _, name := range c.Tests {
		tests, suite := []Test{}, name == All
		if suite {
			tests = catalogue()
		} else {
			t, err := lookup(name)
			if err != nil {
				return nil, bench.UsageError(err)
			}
			tests = append(tests, t)
		}
		for i := range tests {
			more, err := c.expand(&tests[i], transport, lim, suite)
			cases = append(cases, more...)
			if err != nil {
				errs = append(errs, err)
			}
		}
	}
	if len(errs) != 0 {
		return nil, bench.UsageError(errs...)
	}
	return cases, nil
}

// expand makes the cases of one test.
func (c *Config) expand(t *Test, transport fabric.Transport, lim fabric.Limits, suite bool) ([]Case, error) {
	if err := c.carries(t, transport, suite); err != nil {
		if suite {
			return nil, nil
		}
		return nil, err
	}
	ops := slices.DeleteFunc(slices.Clone(t.ops), func(op fabric.Op) bool { return !transport.Allows(op) })
	if len(t.ops) == 0 {
		ops = []fabric.Op{t.request}
	}
	sizes, windows := c.sizes(t, suite), c.windows(t, suite)
	var cases []Case
	for _, op := range ops {
		for _, size := range sizes {
			for _, window := range windows {
				one := c.newCase(t, op, transport, size, window)
				if err := c.settle(t, &one, lim, suite); err != nil {
					return nil, fmt.Errorf("%s: %w", t.Name, err)
				}
				for _, one := range c.withLookups(t, one) {
					for _, one.Placement = range c.Placements {
						cases = append(cases, one)
					}
				}
			}
		}
	}
	return cases, nil
}

// carries says why the test cannot run on this transport or fabric.
func (c *Config) carries(t *Test, transport fabric.Transport, suite bool) error {
	switch {
	case c.Remote && t.local():
		return fmt.Errorf("%s measures two processes of this host: run it without --server-command", t.Name)
	case len(t.Transports) == 0:
		return nil
	case !slices.Contains(t.Transports, transport):
		op := t.request
		if len(t.ops) != 0 {
			op = t.ops[0]
		}
		return fmt.Errorf("%s needs %v, which %v does not have: use --transport %s",
			t.Name, op, transport, carriers(t.Transports, op))
	case c.ReplyTransport != "" && !t.mails() && !suite:
		return fmt.Errorf("--reply-transport is for a test whose replies alone are sent: use echo-ws, not %s", t.Name)
	case len(c.Accesses) != 0 && !t.looksUp() && !suite:
		return fmt.Errorf("--accesses are made by a server that finds requests in its memory: use echo-ws or echo-ww, not %s", t.Name)
	case t.kind == kindIdle && c.Fabric == provider.Loop:
		return fmt.Errorf("idle measures the CPU of a server process and loop has none: use --fabric shm or tcp")
	case t.kind == kindIdle && c.Poll == fabric.Busy:
		return fmt.Errorf("idle measures a server that sleeps and a busy one never does: use --poll adaptive")
	}
	return nil
}

// withLookups is a case for every number of memory accesses, ahead or not.
func (c *Config) withLookups(t *Test, one Case) []Case {
	if !t.looksUp() || len(c.Accesses) == 0 {
		return []Case{one}
	}
	ahead := c.Prefetch
	if len(ahead) == 0 {
		ahead = []bool{true}
	}
	var cases []Case
	for _, n := range c.Accesses {
		if n == 0 {
			cases = append(cases, one)
			continue
		}
		for _, prefetch := range ahead {
			more := one
			more.Accesses, more.Prefetch, more.Table = n, prefetch, c.Table
			cases = append(cases, more)
		}
	}
	return cases
}

func (c *Config) sizes(t *Test, suite bool) []int {
	if len(c.Sizes) == 0 || (suite && t.fixed) {
		if t.looksUp() && len(c.Accesses) != 0 {
			return []int{2 * wordSize}
		}
		return []int{t.size}
	}
	if suite {
		// What is smaller than the test's least message is measured with that.
		sizes := slices.Clone(c.Sizes)
		for i := range sizes {
			sizes[i] = max(sizes[i], t.minSize)
		}
		return slices.Compact(sizes)
	}
	return c.Sizes
}

func (c *Config) windows(t *Test, suite bool) []int {
	switch {
	case t.kind == kindIdle:
		return []int{1}
	case len(c.Windows) != 0:
		return c.Windows
	case suite:
		return t.suite
	}
	return t.windows
}

func (c *Config) newCase(t *Test, op fabric.Op, transport fabric.Transport, size, window int) Case {
	one := Case{
		Test: t.Name, Kind: t.kind, Op: op, Request: t.request, Reply: t.reply,
		Fabric: c.Fabric, Transport: transport, ReplyTransport: transport, Size: size, Window: window,
		Threads: t.threads, QPs: 1, Poll: c.Poll, OneLine: t.oneLine,
	}
	if c.Threads != 0 && t.kind != kindLimit && t.kind != kindIdle {
		one.Threads = c.Threads
	}
	if c.ReplyTransport != "" && t.mails() {
		one.ReplyTransport = fabric.UD
	}
	if t.mesh {
		one.QPs = one.Threads
	}
	if len(t.ops) > 1 {
		one.Test += "-" + opWord(op)
	}
	return one
}

// opWord is the operation as it appears in the name of a row.
func opWord(op fabric.Op) string {
	switch op {
	case fabric.OpRead:
		return "read"
	case fabric.OpWrite:
		return "write"
	case fabric.OpSend:
		return "send"
	default:
		return strings.ToLower(op.String())
	}
}

// settle decides inline and signaled and checks sizes and depths.
func (c *Config) settle(t *Test, one *Case, lim fabric.Limits, suite bool) error {
	if one.Kind == kindLimit {
		one.Fabric, one.Signaled = memoryFabric, false
		return c.checkSize(t, one, lim)
	}
	if err := c.checkSize(t, one, lim); err != nil {
		return err
	}
	if one.Window > lim.MaxDepth/2 {
		return fmt.Errorf("--window %d is more than half of the %d requests that a queue of %s takes",
			one.Window, lim.MaxDepth, one.Fabric)
	}
	if one.crowded() && max(one.Threads, one.QPs)*targetShape(one).recvs > lim.MaxDepth {
		return fmt.Errorf("--threads %d and --window %d: one queue pair for all needs more receives than the %d that %s takes",
			one.Threads, one.Window, lim.MaxDepth, one.Fabric)
	}
	if err := c.settleInline(t, one, lim, suite); err != nil {
		return err
	}
	pumps := one.Kind == kindInbound || one.Kind == kindOutbound
	if c.Unsignaled == On && pumps && one.Window < 2 && !suite {
		return fmt.Errorf("--unsignaled needs --window 2 or more: " +
			"a single operation in flight is only known to be done by its completion")
	}
	one.Signaled = !c.Unsignaled.or(t.tuned) || (pumps && one.Window < 2)
	return nil
}

func (c *Config) settleInline(t *Test, one *Case, lim fabric.Limits, suite bool) error {
	can := one.Op == fabric.OpWrite || one.Op == fabric.OpSend
	fits := one.Size <= lim.MaxInline
	if c.Inline == On && !suite {
		switch {
		case !can && len(t.ops) == 1:
			return fmt.Errorf("--inline: a %v has no data to send along; only SEND and WRITE do", one.Op)
		case can && !fits:
			return fmt.Errorf("--inline: %d bytes, and %s takes at most %d inline", one.Size, one.Fabric, lim.MaxInline)
		}
	}
	one.Inline = c.Inline.or(t.tuned) && can && fits
	return nil
}

func (c *Config) checkSize(t *Test, one *Case, lim fabric.Limits) error {
	switch {
	case t.fixed && one.Size != t.size:
		return fmt.Errorf("--size %d: the word has always %d bytes", one.Size, t.size)
	case one.Size < 2*wordSize && t.looksUp() && slices.ContainsFunc(c.Accesses, func(n int) bool { return n > 0 }):
		return fmt.Errorf("--size %d: a message that says what to look up has at least %d bytes", one.Size, 2*wordSize)
	case one.Size < t.minSize:
		return fmt.Errorf("--size %d: a message carries a sequence number and has at least %d bytes", one.Size, t.minSize)
	case one.Kind == kindLimit:
		return nil
	case one.Transport == fabric.UC && !lim.UC, one.Transport == fabric.UD && !lim.UD:
		return fmt.Errorf("%s has no %v: use --transport rc", one.Fabric, one.Transport)
	case one.mails() && !lim.UD:
		return fmt.Errorf("%s has no %v: leave out --reply-transport", one.Fabric, one.ReplyTransport)
	case one.Op.Atomic() && !lim.Atomics:
		return fmt.Errorf("%s has no atomics", one.Fabric)
	case (one.Transport == fabric.UD || one.mails()) && one.Size > lim.MTU:
		return fmt.Errorf("--size %d: a datagram of %s has at most %d bytes", one.Size, one.Fabric, lim.MTU)
	case one.Size > lim.MaxMessage:
		return fmt.Errorf("--size %d: a message of %s has at most %d bytes", one.Size, one.Fabric, lim.MaxMessage)
	}
	return nil
}

// Title names a case for people.
func (c *Case) Title() string {
	s := fmt.Sprintf("%s %d B window %d", c.Test, c.Size, c.Window)
	if c.Accesses > 0 {
		s += fmt.Sprintf(" accesses %d prefetch %s", c.Accesses, onOff(c.Prefetch))
	}
	if c.Threads > 1 {
		s += fmt.Sprintf(" threads %d", c.Threads)
	}
	if !c.sharing().Own() {
		s += " placement " + c.Placement
	}
	return s
}
