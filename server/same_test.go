package server_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/remora-kv/remora"
	"github.com/remora-kv/remora/test/cachetest"
	"github.com/remora-kv/remora/test/scale"
)

// way is one way to run a program.
type way struct {
	fabric, engine, mode string
	path                 remora.Path
	how                  string
}

func (w way) String() string {
	return fmt.Sprintf("%s/%s/%s/%s/%s", w.fabric, w.engine, w.mode, w.path, w.how)
}

// ways are all of them; a store is not tried on all paths, and the second engine on the
// first fabric only but in a soak test: engines do not know of fabrics.
func ways() (all []way) {
	for _, fabric := range fabrics {
		for _, engine := range realEngines {
			if engine != realEngines[0] && fabric != fabrics[0] && !scale.Soak() {
				continue
			}
			for _, path := range []remora.Path{
				remora.PathRFP, remora.PathFetch, remora.PathReply, remora.PathHerd, remora.PathSendRecv,
			} {
				for _, how := range []string{"client", "session", "batches", "window"} {
					all = append(all, way{fabric, engine, "cache", path, how})
					if path == remora.PathRFP {
						all = append(all, way{fabric, engine, "store", path, how})
					}
				}
			}
		}
	}
	return all
}

// The same operations have the same outcomes over every fabric, engine, mode and
// path, by client, session and batches: values, errors, flags, times to live, and
// versions but for their numbers.
func TestSameOutcomes(t *testing.T) {
	seed := scale.Seed(t)
	program := cachetest.Program(seed, scale.Times(160), 1<<16)
	var first []string
	for _, w := range ways() {
		t.Run(w.String(), func(t *testing.T) {
			lines, err := cachetest.Renumber(program, w.run(t, program))
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if first == nil {
				first = lines
			}
			if d := cachetest.Difference(first, lines); d != "" {
				t.Errorf("seed %d: %s", seed, d)
			}
		})
	}
}

// run runs a program this way, on a server of its own.
func (w way) run(t *testing.T, program []cachetest.Step, opts ...remora.Option) []cachetest.Outcome {
	r := newRig(t, w.fabric)
	cfg := r.config()
	cfg.Links = len(opts) != 0
	cfg.Engine, cfg.Mode = w.engine, modes[w.mode]
	cfg, clock := stopped(cfg)
	r.start(cfg)
	dev := r.device()
	if len(opts) != 0 {
		dev = clock.Device(dev) // clients who read by themselves go by the clock
	}
	c, ctx := dialOn(t, r.url, dev, append(opts, remora.WithPath(w.path))...), testContext(t)
	later := func(d time.Duration) { advance(t, clock, c, d) }
	switch w.how {
	case "client":
		return cachetest.Run(ctx, program, adapter{operations: c}, later)
	case "session":
		return cachetest.Run(ctx, program, adapter{operations: session(t, c)}, later)
	case "batches":
		return cachetest.RunAhead(ctx, program, &pipe{Session: session(t, c, remora.WithBatch(5), remora.WithWindow(4))}, 20, later)
	default:
		return cachetest.RunAhead(ctx, program, &pipe{Session: session(t, c, remora.WithWindow(8))}, 8, later)
	}
}
