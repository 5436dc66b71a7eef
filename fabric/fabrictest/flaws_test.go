package fabrictest

import (
	"errors"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/remora-kv/remora/fabric"
)

// each request that a flaw changes is posted on its own.
func oneByOne(qp fabric.QP, wrs []fabric.WR, change func(w *fabric.WR)) (int, error) {
	for i := range wrs {
		w := wrs[i]
		change(&w)
		if _, err := qp.Post([]fabric.WR{w}); err != nil {
			var pe *fabric.PostError
			if errors.As(err, &pe) {
				err = &fabric.PostError{Index: i, Err: pe.Err}
			}
			return i, err
		}
	}
	return len(wrs), nil
}

// kept filters completions.
func kept(cs []fabric.Completion, keep func(c *fabric.Completion) bool) int {
	n := 0
	for i := range cs {
		if keep(&cs[i]) {
			cs[n] = cs[i]
			n++
		}
	}
	return n
}

var sink atomic.Pointer[[]byte]

// split cuts a request of one segment in two.
func split(w fabric.WR, at int) (first, second fabric.WR) {
	first, second = w, w
	first.Local.Len = at
	second.Local.Off += at
	second.Local.Len -= at
	second.Remote.Addr += uint64(at)
	return first, second
}

// postEarly posts a part of a request, and lets others look.
func postEarly(qp fabric.QP, w fabric.WR) {
	_, _ = qp.Post([]fabric.WR{unsignaled(w)})
	othersLook(2000)
}

// othersLook takes a while in which others look, also where there is but one processor.
func othersLook(turns int) {
	for i := range turns {
		sink.Store(nil)
		if i%100 == 0 {
			runtime.Gosched()
		}
	}
}

// flaws are devices that break one rule each.
var flaws = []*flaw{
	{
		name:   "completions-reversed",
		cases:  []string{"G1/chains/rc", "G1/long-chains/rc", "G1/mixed-operations/rc", "G1/receives/rc"},
		polled: func(cs []fabric.Completion) int { slices.Reverse(cs); return len(cs) },
	},
	{
		name:  "write-one-byte-short",
		cases: []string{"G8/sizes/write/rc", "segments/write/rc", "G3/completion/rc", "G18/one-sided/rc"},
		post: func(qp fabric.QP, wrs []fabric.WR) (int, error) {
			return oneByOne(qp, wrs, func(w *fabric.WR) {
				if w.Op == fabric.OpWrite && w.Local.Len > 1 {
					w.Local.Len--
				}
			})
		},
	},
	{
		name:  "write-one-byte-beside",
		cases: []string{"G8/sizes/write/rc", "G8/megabyte/rc", "G7/edges/rc"},
		post: func(qp fabric.QP, wrs []fabric.WR) (int, error) {
			return oneByOne(qp, wrs, func(w *fabric.WR) {
				if w.Op == fabric.OpWrite && w.Local.Len > 0 {
					w.Remote.Addr++
				}
			})
		},
	},
	{
		name: "write-dropped-sometimes",
		// Not G2/pipelined: whether its reader sees the gap depends on the scheduler.
		cases: []string{"G8/sizes/write/rc", "G1/long-chains/rc", "G3/write-then-send/rc", "G4/overlap/rc"},
		post: func() func(qp fabric.QP, wrs []fabric.WR) (int, error) {
			var n atomic.Int64
			return func(qp fabric.QP, wrs []fabric.WR) (int, error) {
				return oneByOne(qp, wrs, func(w *fabric.WR) {
					if w.Op == fabric.OpWrite && n.Add(1)%17 == 0 {
						w.Local.Len, w.More = 0, nil
					}
				})
			}
		}(),
	},
	{
		// The second half is written first: the last byte is not the last.
		name:  "write-in-two-halves",
		cases: []string{"G2/last-byte-last/rc"},
		post: func(qp fabric.QP, wrs []fabric.WR) (int, error) {
			return oneByOne(qp, wrs, func(w *fabric.WR) {
				if half := w.Local.Len / 2; w.Op == fabric.OpWrite && half > 0 && len(w.More) == 0 {
					first, second := split(*w, half)
					postEarly(qp, second)
					*w = first
				}
			})
		},
	},
	{
		// In address order, but cut in the middle of a word.
		name:  "words-torn",
		cases: []string{"G5/write-against-cpu/rc", "G5/write-against-read/rc"},
		post: func(qp fabric.QP, wrs []fabric.WR) (int, error) {
			return oneByOne(qp, wrs, func(w *fabric.WR) {
				if w.Op == fabric.OpWrite && w.Local.Len >= 8 && len(w.More) == 0 {
					first, second := split(*w, w.Local.Len-4)
					postEarly(qp, first)
					*w = second
				}
			})
		},
	},
	{
		name:    "send-overtakes-write",
		cases:   []string{"G3/write-then-send/rc", "G3/write-then-write-imm/rc"},
		raceOff: true, // the detector sees it, too
		post: func() func(qp fabric.QP, wrs []fabric.WR) (int, error) {
			var held []fabric.WR
			return func(qp fabric.QP, wrs []fabric.WR) (int, error) {
				if wrs[0].Op == fabric.OpWrite && wrs[0].Flags == 0 {
					held = slices.Clone(wrs)
					return len(wrs), nil
				}
				n, err := qp.Post(wrs)
				othersLook(20000)
				late := held
				held = nil
				_, _ = qp.Post(late)
				return n, err
			}
		}(),
	},
	{
		// The WRITE that a message followed is done when the next one is
		// posted. On UC it is taken for dropped at first.
		name: "write-a-message-late",
		cases: []string{
			"G3/write-then-send/rc", "G3/write-then-send/uc",
			"G3/write-then-write-imm/rc", "G3/write-then-write-imm/uc",
		},
		post: func() func(qp fabric.QP, wrs []fabric.WR) (int, error) {
			held := map[fabric.QP][]fabric.WR{}
			return func(qp fabric.QP, wrs []fabric.WR) (int, error) {
				if wrs[0].Op != fabric.OpWrite {
					return qp.Post(wrs)
				}
				late := held[qp]
				held[qp] = slices.Clone(wrs)
				_, _ = qp.Post(late)
				return len(wrs), nil
			}
		}(),
	},
	{
		name:  "write-overtakes-read",
		cases: []string{"G4/write-after-read/rc", "G4/overlap/rc"},
		post: func(qp fabric.QP, wrs []fabric.WR) (int, error) {
			wrs = slices.Clone(wrs)
			for i := 1; i < len(wrs); i++ {
				if wrs[i-1].Op == fabric.OpRead && wrs[i].Op == fabric.OpWrite {
					wrs[i-1], wrs[i] = wrs[i], wrs[i-1]
					wrs[i-1].Flags, wrs[i].Flags = wrs[i].Flags, wrs[i-1].Flags
				}
			}
			return qp.Post(wrs)
		},
	},
	{
		name:  "fetch-add-forgotten",
		cases: []string{"G6/fetch-add-shared/rc", "G6/both-kinds", "G6/results/fetch-add/rc"},
		post: func() func(qp fabric.QP, wrs []fabric.WR) (int, error) {
			var n atomic.Int64
			return func(qp fabric.QP, wrs []fabric.WR) (int, error) {
				return oneByOne(qp, wrs, func(w *fabric.WR) {
					if w.Op == fabric.OpFetchAdd && n.Add(1)%5 == 0 {
						w.Operand = 0
					}
				})
			}
		}(),
	},
	{
		name:  "unsignaled-completes",
		cases: []string{"G10/silence/rc", "G10/unsignaled-run/rc", "G8/sizes/write/rc", "G1/long-chains/rc"},
		post: func(qp fabric.QP, wrs []fabric.WR) (int, error) {
			return oneByOne(qp, wrs, func(w *fabric.WR) { w.Flags |= fabric.FlagSignaled })
		},
	},
	{
		name:   "queue-one-deeper",
		cases:  []string{"G12/chain-too-long/rc", "G10/unsignaled-run/rc", "G12/receives/rc"},
		config: func(cfg *fabric.QPConfig) { cfg.SendDepth++; cfg.RecvDepth++ },
		roomy:  true,
	},
	{
		name:  "flushes-lost",
		cases: []string{"G7/refused/write/rc", "G11/after-error", "G13/death/receives/rc", "G13/graceful/rc"},
		polled: func(cs []fabric.Completion) int {
			return kept(cs, func(c *fabric.Completion) bool { return c.Status != fabric.StatusFlushed })
		},
	},
	{
		name:  "wrong-status",
		cases: []string{"G7/refused/read/rc", "G9/overlong/rc", "G9/rnr-at-once", "G9/rnr-timeout/rc"},
		polled: func(cs []fabric.Completion) int {
			return kept(cs, func(c *fabric.Completion) bool {
				if c.Status != fabric.StatusOK {
					c.Status = fabric.StatusFlushed
				}
				return true
			})
		},
	},
	{
		name:  "errors-hidden",
		cases: []string{"G7/refused/write/rc", "G13/death/idle/rc"},
		state: func(qp fabric.QP) fabric.State { return fabric.StateReady },
	},
	{
		name:  "wrong-reason",
		cases: []string{"G13/death/idle/rc", "G13/graceful/rc"},
		err: func(qp fabric.QP) error {
			if qp.Err() != nil {
				return fabric.ErrInvalid
			}
			return nil
		},
	},
	{
		name:  "immediate-lost",
		cases: []string{"G19/immediate/rc", "G8/sizes/write-imm/rc"},
		polled: func(cs []fabric.Completion) int {
			return kept(cs, func(c *fabric.Completion) bool { c.HasImm = false; return true })
		},
	},
	{
		name:  "inline-read-late",
		cases: []string{"G14/inline/rc"},
		post: func() func(qp fabric.QP, wrs []fabric.WR) (int, error) {
			// A NIC that reads inline data when it gets to it: here, one post
			// later.
			var held []fabric.WR
			posts := 0
			return func(qp fabric.QP, wrs []fabric.WR) (int, error) {
				late := held
				held = slices.Clone(wrs)
				if posts++; posts%16 == 0 {
					late, held = append(late, held...), nil
				}
				if len(late) == 0 {
					return len(wrs), nil
				}
				if n, err := qp.Post(late); err != nil {
					return n, err
				}
				return len(wrs), nil
			}
		}(),
	},
	{
		name:     "counted-twice",
		cases:    []string{"G15/each-operation/rc", "G15/device-sums", "G15/both-ways"},
		counters: func(c *fabric.Counters) { c.Add(&fabric.Counters{Out: c.Out}) },
	},
	{
		name:   "always-wakes",
		cases:  []string{"G17/solicited/rc"},
		waiter: func(cfg *fabric.WaitConfig) { cfg.SolicitedOnly = false },
	},
	{
		name:   "busy-sleeps",
		cases:  []string{"G17/busy"},
		waiter: func(cfg *fabric.WaitConfig) { cfg.Policy = fabric.Adaptive },
	},
	{
		name:   "never-sleeps",
		cases:  []string{"G17/before-and-after"},
		waiter: func(cfg *fabric.WaitConfig) { cfg.Policy = fabric.Busy },
	},
	{
		name:  "wake-forgotten",
		cases: []string{"G17/wake-next"},
		wait: func(w fabric.Waiter, cfg *fabric.WaitConfig, poll func() bool, timeout time.Duration) bool {
			w.Wait(func() bool { return false }, time.Microsecond) // swallows the Wake
			return w.Wait(poll, timeout)
		},
	},
	{
		name:   "no-look-before-sleep",
		cases:  []string{"G17/poll-before-sleep", "G17/before-and-after"},
		waiter: func(cfg *fabric.WaitConfig) { cfg.BeforeSleep, cfg.AfterSleep = nil, nil },
		wait: func(w fabric.Waiter, cfg *fabric.WaitConfig, poll func() bool, timeout time.Duration) bool {
			quiet := false
			beforeSleep, afterSleep := cfg.BeforeSleep, cfg.AfterSleep
			if beforeSleep == nil || afterSleep == nil {
				return w.Wait(poll, timeout)
			}
			for range 3 {
				if poll() {
					return true
				}
				beforeSleep()
				w.Wait(func() bool { return quiet }, 10*time.Microsecond)
				afterSleep()
			}
			return false
		},
	},
	{
		name:  "timeout-early",
		cases: []string{"G17/timeout"},
		wait: func(w fabric.Waiter, cfg *fabric.WaitConfig, poll func() bool, timeout time.Duration) bool {
			return w.Wait(poll, (timeout+1)/2)
		},
	},
	{
		name:    "allocates",
		cases:   []string{"allocs/write/rc", "allocs/send/rc"},
		raceOff: true,
		post: func(qp fabric.QP, wrs []fabric.WR) (int, error) {
			b := make([]byte, 1)
			sink.Store(&b)
			return qp.Post(wrs)
		},
	},
	{
		name:  "leaks-goroutine",
		cases: []string{"connect/reject/rc"},
		dial:  func() { go leak.wait() },
	},
	{
		name:    "leaks-queue-pair",
		cases:   []string{"connect/cycles/rc"},
		closeQP: func(qp fabric.QP) error { return qp.Disconnect() },
	},
	{
		name:   "modest",
		cases:  []string{"limits/minimums"},
		limits: func(l *fabric.Limits) { l.MaxPrivate = 55 },
	},
	{
		name:   "gives-more-than-asked",
		cases:  []string{"limits/asked-for/rc", "limits/asked-for/uc"},
		config: func(cfg *fabric.QPConfig) { cfg.MaxSegs, cfg.MaxInline = 0, 0 },
	},
	{
		name:  "receives-swapped",
		cases: []string{"G1/receives/rc", "G12/chain-too-long/rc"},
		postRecv: func() func(qp fabric.QP, wrs []fabric.RecvWR) (int, error) {
			var held *fabric.RecvWR
			return func(qp fabric.QP, wrs []fabric.RecvWR) (int, error) {
				if held == nil {
					w := wrs[0]
					held = &w
					return len(wrs), nil
				}
				n, err := qp.PostRecv(append(slices.Clone(wrs), *held))
				held = nil
				return min(n, len(wrs)), err
			}
		}(),
	},
	{
		name:  "rnr-gives-up-early",
		cases: []string{"G9/rnr-timeout/rc"},
		config: func(cfg *fabric.QPConfig) {
			if cfg.RNRTimeout > 0 {
				cfg.RNRTimeout = 0
			}
		},
	},
	{
		name:  "views-one-byte-beside",
		cases: []string{"G20/same-as-read"},
		view: func(v fabric.Viewer, from fabric.Remote, n int) ([]byte, bool) {
			if b, ok := v.View(from.At(1), n); ok {
				return b, true
			}
			return v.View(from, n)
		},
	},
	{
		name:  "views-that-can-grow",
		cases: []string{"G20/same-as-read"},
		view: func(v fabric.Viewer, from fabric.Remote, n int) ([]byte, bool) {
			b, ok := v.View(from, n)
			return append(make([]byte, 0, n+1), b...), ok
		},
	},
	{
		// It asks once, and uses that answer from then on.
		name:  "views-remembered",
		cases: []string{"G20/closed-region", "G20/not-ready", "G20/counted"},
		view: func() func(v fabric.Viewer, from fabric.Remote, n int) ([]byte, bool) {
			var last fabric.Remote
			var had []byte
			return func(v fabric.Viewer, from fabric.Remote, n int) ([]byte, bool) {
				if from == last && n > 0 && n <= len(had) {
					return had[:n], true
				}
				b, ok := v.View(from, n)
				if ok {
					last, had = from, b
				}
				return b, ok
			}
		}(),
	},
	{
		name:  "views-without-rights",
		cases: []string{"G20/rights"},
		view: func(v fabric.Viewer, from fabric.Remote, n int) ([]byte, bool) {
			if b, ok := v.View(from, n); ok || n <= 0 {
				return b, ok
			}
			return make([]byte, min(n, 64)), true
		},
	},
	{
		name:  "places-one-byte-beside",
		cases: []string{"G21/same-as-write"},
		place: func(p fabric.Placer, to fabric.Remote, b []byte) bool {
			return p.Place(to.At(1), b) || p.Place(to, b)
		},
	},
	{
		name:  "places-in-two-operations",
		cases: []string{"G21/counted"},
		place: func(p fabric.Placer, to fabric.Remote, b []byte) bool {
			half := len(b) / 2
			return half != 0 && p.Place(to.At(half), b[half:]) && p.Place(to, b[:half])
		},
	},
	{
		name:  "places-what-fits",
		cases: []string{"G21/rights"},
		place: func(p fabric.Placer, to fabric.Remote, b []byte) bool {
			return p.Place(to, b) || p.Place(to, b[:min(len(b), 4096)])
		},
	},
	{
		name:  "places-said-but-not-done",
		cases: []string{"G21/rights", "G21/closed-region", "G21/not-ready"},
		place: func(p fabric.Placer, to fabric.Remote, b []byte) bool {
			_ = p.Place(to, b)
			return true
		},
	},
	{
		name:  "places-forgotten-behind-requests",
		cases: []string{"G21/behind-requests"},
		place: func(p fabric.Placer, to fabric.Remote, b []byte) bool { return p.Place(to, b) || len(b) == 32 },
	},
}

// leak is where leaked goroutines wait until the test is over.
var leak leakage

type leakage struct{ never chan struct{} }

func (l *leakage) wait() { <-l.never }
