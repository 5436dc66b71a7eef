package cache

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/remora-kv/remora"
	"github.com/remora-kv/remora/bench/load"
	"github.com/remora-kv/remora/bench/target"

	"github.com/remora-kv/remora/internal/cycles"
)

func planOf(t *testing.T, c Config) []Case {
	t.Helper()
	if err := c.normalize(); err != nil {
		t.Fatal(err)
	}
	return c.plan()
}

// Lists multiply; what a target does not have makes no rows.
func TestPlan(t *testing.T) {
	cases := planOf(t, Config{
		Paths: Paths(), Fabrics: []string{"shm", "tcp"}, Engines: []string{"mica", "lru8"}, Dists: Dists(),
		Thetas: []float64{0.8, 0.99}, GetPcts: []float64{50, 95}, ValueSizes: []int{8, 32}, Clients: []int{1, 2},
		Windows: []int{1, 4}, Batches: []int{1, 16},
	})
	asks, searches := 4*2*2, 2*len(searchPaths())
	targets, loads := asks+searches+2+2+1, 2*8*2*2*2*2 // text has engines
	want := targets*loads - (2*2*2+searches)*loads/2   // herd and sendrecv have no batches, nor have searches
	if len(cases) != want {
		t.Errorf("%d cases, want %d", len(cases), want)
	}
	for i := range targets {
		if cases[i].load() != cases[0].load() || cases[i].Window != 1 {
			t.Errorf("case %d bears another load: %+v", i, cases[i])
		}
	}
	if c := planOf(t, Config{Goroutines: []int{0, 5}, Paths: []string{PathRFP, PathRedis}}); len(c) != 4 ||
		c[0].Window != 1 || c[0].Batch != 1 || c[2].Window != clientWindow || c[2].Batch != clientBatch || c[3].Window != 1 {
		t.Errorf("with goroutines and without: %+v", c)
	}
	if c := planOf(t, Config{Prefetches: Prefetches(), Paths: []string{PathHerd, PathRedis}}); len(c) != 3 ||
		c[0].Prefetch != PrefetchOn || c[1].Prefetch != PrefetchOff || c[2].Prefetch != "" || c[1].load() != c[0].load() {
		t.Errorf("with prefetching and without: %+v", c)
	}
	if c := planOf(t, Config{Placements: []string{"own", "one"}, Paths: []string{PathRFP, PathRedis, PathNull}}); len(c) != 5 ||
		c[0].Placement != "own" || c[3].Placement != "one" || c[2].Path != PathNull || c[3].load() == c[0].load() || c[3].oneThread() != c[0].oneThread() {
		t.Errorf("in two placements: %+v", c)
	}
	if c := planOf(t, Config{Server: "tcp://x:1"})[0]; c.Placement != "" {
		t.Errorf("nobody knows where a running server is: %+v", c)
	}
	if c := planOf(t, Config{Server: "tcp://x:1"}); c[0].Fabric != "" || c[0].Engine != "" {
		t.Errorf("a running server is one of %+v", c[0])
	}
}

// F is what brings the whole answer, unless it is given (C10).
func TestFetchSize(t *testing.T) {
	const one = 4 + 32 + 19 // an entry: its length, the value, what goes with it
	for want, c := range map[int]Config{
		8 + one:      {},
		8 + 16*one:   {Batches: []int{16}},
		8 + 2048:     {Batches: []int{96}},
		777:          {FetchSize: 777},
		8 + one + 68: {ValueSizes: []int{100}},
	} {
		if got := planOf(t, c)[0].FetchSize; got != want {
			t.Errorf("%+v: F is %d, want %d", c, got, want)
		}
	}
	for _, c := range []Config{{ValueSizes: []int{4096}}, {Goroutines: []int{3}}} {
		if got := planOf(t, c)[0].FetchSize; got != 0 {
			t.Errorf("%+v: F is %d, want the default", c, got)
		}
	}
}

// The keys fit, twice, and a large value fits memcached.
func TestRoomForTheKeys(t *testing.T) {
	small, large := planOf(t, Config{Keys: 1000})[0], planOf(t, Config{ValueSizes: []int{1 << 20}, Keys: 4096})[0]
	if small.Memory != 1<<30 || large.Memory < 8<<30 {
		t.Errorf("memory of %d and %d bytes", small.Memory, large.Memory)
	}
	for want, c := range map[string]Case{
		"":        {ValueSize: 1 << 10, Clients: 1},
		"-I 2m":   {ValueSize: 1 << 20, Clients: 1},
		"-I 5m":   {ValueSize: 5<<20 - 4000, Clients: 1},
		"-c 1064": {ValueSize: 32, Clients: 1, Goroutines: 1000},
	} {
		if got := strings.Join(memcachedArgs(&c), " "); got != want {
			t.Errorf("memcached for %+v is started with %q, want %q", c, got, want)
		}
	}
}

// fakeLane answers at once with what a function makes of a get.
type fakeLane struct {
	most    int
	pending []int
	answer  func(slot int) ([]byte, error)
	keys    []string
}

func (l *fakeLane) get(slot int, key []byte) error {
	if len(l.pending) == l.most {
		return errFull
	}
	l.pending = append(l.pending, slot)
	l.keys = append(l.keys, string(key))
	return nil
}

func (l *fakeLane) put(slot int, key, _ []byte) error { return l.get(slot, key) }

func (l *fakeLane) drain(_ context.Context, d *driver) error {
	slot := l.pending[len(l.pending)-1] // in any order
	l.pending = l.pending[:len(l.pending)-1]
	value, err := l.answer(slot)
	return d.take(slot, value, err)
}

func (l *fakeLane) poll(d *driver) error {
	for len(l.pending) != 0 {
		if err := l.drain(context.Background(), d); err != nil {
			return err
		}
	}
	return nil
}

// drive runs a driver on a fake lane.
func drive(t *testing.T, l *fakeLane, pct float64, answer func(d *driver, slot int) ([]byte, error)) (load.Tally, error) {
	t.Helper()
	c := Case{KeySize: 16, ValueSize: 32, Window: 4, Batch: 2}
	mix := load.Mix{Keys: 50, GetPct: pct, Seed: 1}
	stream := mix.Stream(0)
	if pct == 0 {
		stream = mix.All()
	}
	d := newDriver(l, &c, stream)
	l.answer = func(slot int) ([]byte, error) { return answer(d, slot) }
	return load.Run(t.Context(), []load.Worker{d}, load.Budget{Ops: 100}, cycles.Calibrate(), nil)
}

// right is the value that a get should find.
func right(d *driver, slot int) ([]byte, error) {
	b := d.values.Buffer()
	d.values.Fill(b, d.slots[slot].index, 77)
	return b, nil
}

// C5: a wrong value ends the run; misses and refusals are counted.
func TestResultsAreChecked(t *testing.T) {
	lane := func() *fakeLane { return &fakeLane{most: 8} }
	if sum, err := drive(t, lane(), 100, right); err != nil || sum.Ops != 100 || sum.Misses != 0 || sum.Errors != 0 {
		t.Errorf("right values: %+v, %v", sum, err)
	}
	_, err := drive(t, lane(), 100, func(d *driver, slot int) ([]byte, error) {
		b, _ := right(d, slot)
		b[20] ^= 1
		return b, nil
	})
	if !errors.Is(err, load.ErrValue) {
		t.Errorf("a wrong value gave %v", err)
	}
	sum, err := drive(t, lane(), 100, func(*driver, int) ([]byte, error) { return nil, errMiss })
	if err != nil || sum.Misses != 100 || sum.Errors != 0 {
		t.Errorf("misses: %+v, %v", sum, err)
	}
	broken := errors.New("out of memory")
	sum, err = drive(t, lane(), 100, func(*driver, int) ([]byte, error) { return nil, broken })
	if err != nil || sum.Errors != 100 || !errors.Is(sum.Why, broken) {
		t.Errorf("refusals: %+v, %v", sum, err)
	}
}

// With Fill the key of every get that missed is put, once and at once, also where the
// window is smaller than the driver believes.
func TestDriverFills(t *testing.T) {
	for _, most := range []int{8, 3} {
		l := &fakeLane{most: most}
		c := Case{KeySize: 16, ValueSize: 32, Window: 4, Batch: 2, Fill: true}
		mix := load.Mix{Keys: 1e9, GetPct: 100, Seed: 1} // no key comes twice
		d := newDriver(l, &c, mix.Stream(0))
		missed := make(map[uint64]bool)
		put := 0
		l.answer = func(slot int) ([]byte, error) {
			s := &d.slots[slot]
			switch {
			case !s.get && !missed[s.index]:
				t.Errorf("key %d was put, and not missed, or put before", s.index)
			case !s.get:
				delete(missed, s.index)
				put++
			case s.index%3 == 0:
				missed[s.index] = true
				return nil, errMiss
			}
			return right(d, slot)
		}
		sum, err := load.Run(t.Context(), []load.Worker{d}, load.Budget{Ops: 1000}, cycles.Calibrate(), nil)
		if err != nil || sum.Ops != 1000 || int(sum.Misses) != put+len(missed) || int(sum.Gets) != 1000-put || put < 100 || len(missed) > 8 {
			t.Errorf("%+v, %v; %d were put, and %d not", sum, err, put, len(missed))
		}
		if len(d.free)+len(d.owed) != c.most() {
			t.Errorf("%d slots are free and %d owed, of %d", len(d.free), len(d.owed), c.most())
		}
	}
}

// C16: a read-modify-write is one operation of a get and then a put of its key, also where
// the get misses and where the window is smaller than the driver believes.
func TestDriverModifies(t *testing.T) {
	for _, most := range []int{8, 3} {
		l := &fakeLane{most: most}
		c := Case{KeySize: 16, ValueSize: 32, Window: 4, Batch: 2}
		mix := load.Mix{Keys: 1e9, GetPct: 20, ModifyPct: 60, Seed: 1} // no key comes twice
		d := newDriver(l, &c, mix.Stream(0))
		var got, put, modified int
		read := make(map[uint64]bool)
		l.answer = func(slot int) ([]byte, error) {
			s := &d.slots[slot]
			switch {
			case s.get && s.op == load.Modify:
				got++
				if read[s.index] = true; s.index%3 == 0 {
					return nil, errMiss
				}
			case s.op == load.Modify:
				if !read[s.index] {
					t.Errorf("key %d was put before it was got", s.index)
				}
				delete(read, s.index)
				modified++
			case !s.get:
				put++
			}
			return right(d, slot)
		}
		sum, err := load.Run(t.Context(), []load.Worker{d}, load.Budget{Ops: 1000, Every: 1}, cycles.Calibrate(), nil)
		gets := 1000 - put - modified
		if err != nil || sum.Ops != 1000 || got != modified || modified < 500 || put < 150 || len(read) != 0 ||
			sum.Gets != uint64(gets+got) || sum.Misses == 0 || sum.Latencies(cycles.Calibrate()).Samples != 1000 {
			t.Errorf("%+v, %v; %d gets, %d puts, %d and %d of modifies, %d left", sum, err, gets, put, got, modified, len(read))
		}
		if len(d.free) != c.most() {
			t.Errorf("%d slots are free, of %d", len(d.free), c.most())
		}
	}
}

// Named workloads say the mix, unless it is given; others are as without one.
func TestWorkloads(t *testing.T) {
	for name, want := range map[string]Case{
		YCSBA: {GetPct: 50, Dist: DistZipf, Theta: 0.99},
		YCSBB: {GetPct: 95, Dist: DistZipf, Theta: 0.99},
		YCSBC: {GetPct: 100, Dist: DistZipf, Theta: 0.99},
		YCSBD: {GetPct: 95, InsertPct: 5, Dist: DistLatest, Theta: 0.99},
		YCSBF: {GetPct: 50, RMWPct: 50, Dist: DistZipf, Theta: 0.99},
		"":    {GetPct: 95, Dist: DistUniform},
	} {
		var names []string
		if name != "" {
			names = []string{name}
		}
		k := planOf(t, Config{Workloads: names})[0]
		if got := (Case{GetPct: k.GetPct, RMWPct: k.RMWPct, InsertPct: k.InsertPct, Dist: k.Dist, Theta: k.Theta}); got != want || k.Workload != name {
			t.Errorf("%s is %+v", name, got)
		}
	}
	cases := planOf(t, Config{Workloads: Workloads(), GetPcts: []float64{30, 40}, Dists: []string{DistUniform}})
	if len(cases) != 2*len(Workloads()) || cases[0].GetPct != 30 || cases[1].GetPct != 40 || cases[0].Dist != DistUniform || cases[9].RMWPct != 50 {
		t.Errorf("%+v", cases)
	}
}

// What is sized by values goes with their distribution.
func TestRoomForSizes(t *testing.T) {
	k := planOf(t, Config{ValueDists: []string{"weibo", "etc"}, Keys: 10_000_000, KeyDist: "etc"})
	if len(k) != 2 || k[0].ValueSize != 43 || k[0].KeySize != 37 || k[0].longestValue() != 899 || k[1].ValueSize != 329 {
		t.Fatalf("%+v", k)
	}
	if want := int64(2 * 10_000_000 * (37 + 43 + 80)); k[0].Memory != want {
		t.Errorf("memory of %d, want %d", k[0].Memory, want)
	}
	big := Case{ValueDist: "uniform:1-3000000", KeySize: 16, Clients: 1}
	if got := strings.Join(memcachedArgs(&big), " "); got != "-I 3m" || big.maxValue() != 3_000_000 {
		t.Errorf("memcached is started with %q, and takes %d", got, big.maxValue())
	}
	f := func(dist string, batch int) int {
		return planOf(t, Config{ValueDists: []string{dist}, Batches: []int{batch}})[0].FetchSize
	}
	// 95 % of the values of weibo are up to 128 bytes; of 16 together nearly all are below
	// 16 times a bit more than the mean. What is longer than a frame has a frame.
	if one, many, etc := f("weibo", 1), f("weibo", 16), f("etc", 16); one != 8+4+128+19 || many != 8+16*(4+65+19) || etc != 8+2048 {
		t.Errorf("F is %d, %d and %d", one, many, etc)
	}
	if fixed, same := planOf(t, Config{}), f("uniform:32-32", 1); fixed[0].FetchSize != same {
		t.Errorf("F of one size is %d, and as a distribution %d", fixed[0].FetchSize, same)
	}
}

// An operation that finds no room is not forgotten: every key is stored.
func TestAFullWindowForgetsNothing(t *testing.T) {
	l := &fakeLane{most: 3} // less than the driver believes
	if sum, err := drive(t, l, 0, right); err != nil || sum.Ops != 100 {
		t.Fatalf("%+v, %v", sum, err)
	}
	seen := make(map[string]int)
	for _, k := range l.keys {
		seen[k]++
	}
	for k, n := range seen {
		if n != 2 {
			t.Errorf("key %s was stored %d times, want 2", k, n)
		}
	}
	if len(seen) != 50 {
		t.Errorf("%d keys were stored, want 50", len(seen))
	}
}

// What the server says is told from what ends a session.
func TestErrorsOfASession(t *testing.T) {
	for err, want := range map[error]error{
		remora.ErrNotFound:            errMiss,
		remora.ErrOutOfMemory:         remora.ErrOutOfMemory,
		remora.ErrTooLarge:            remora.ErrTooLarge,
		&remora.LostError{Sent: true}: nil,
		remora.ErrClosed:              nil,
	} {
		if got := answered(err); !errors.Is(got, want) || (got == nil) != (want == nil) {
			t.Errorf("%v is %v, want %v", err, got, want)
		}
	}
	//lint:ignore errorlint it must be these very values
	if started(remora.ErrWindowFull) != errFull || started(nil) != nil {
		t.Error("a full window is not told")
	}
	l := newPipelineLane(nil, 1)
	if err := l.take(nil, target.Answer{Kind: target.Stored}); !errors.Is(err, target.ErrProtocol) {
		t.Errorf("an answer to nothing is %v", err)
	}
}
