package serving_test

import (
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"unicode/utf8"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/loop"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/internal/serving"
	"github.com/remora-kv/remora/rpc/wire"
	"github.com/remora-kv/remora/test/scale"
)

// An ID names its session until that is removed, also when another one has its place.
func TestTable(t *testing.T) {
	var table serving.Table[int]
	a, b, c := 1, 2, 3
	idA, idB := table.Add(&a), table.Add(&b)
	table.Remove(idA)
	table.Remove(idA)
	idC := table.Add(&c)
	if idA>>32 != idC>>32 || table.Len() != 2 || max(idA, idB, idC)>>serving.IDBits != 0 {
		t.Errorf("IDs %#x, %#x, %#x; %d sessions", idA, idB, idC, table.Len())
	}
	if table.Of(idA) != nil || table.Of(idB) != &b || table.Of(idC) != &c || table.Of(7<<32) != nil {
		t.Error("an ID names another session")
	}
	for s := range table.All() {
		table.Remove(map[*int]uint64{&b: idB, &c: idC}[s])
	}
	if table.Len() != 0 {
		t.Errorf("%d sessions are left", table.Len())
	}
}

// Every session is in the list once, at the place that it knows, whatever is removed.
func TestList(t *testing.T) {
	type session struct {
		number int
		at     serving.Place
	}
	var list serving.List[session]
	all := make([]session, 10)
	for i := range all {
		all[i].number = i
		list.Add(&all[i], &all[i].at)
		list.Add(&all[i], &all[i].at)
	}
	list.Remove(&all[3].at)
	list.Remove(&all[3].at)
	list.RemoveIf(func(s *session) bool {
		if s.number == 8 {
			list.Remove(&s.at) // as a session that is dropped
		}
		return s.number%2 == 1
	})
	var left []int
	for _, s := range list.All {
		left = append(left, s.number)
	}
	slices.Sort(left)
	if want := []int{0, 2, 4, 6}; !slices.Equal(left, want) {
		t.Errorf("%v is left, want %v", left, want)
	}
	for i := range all {
		if all[i].at.In() != slices.Contains(left, i) {
			t.Errorf("%d does not know where it is", i)
		}
	}
}

// newCores returns cores that run until the test ends.
func newCores(t *testing.T, n, clients int) (*serving.Acceptor, []*serving.Core) {
	t.Helper()
	dev, err := loop.NewNetwork().NewDevice("server")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dev.Close() })
	a := serving.NewAcceptor(&serving.Config{
		Path: "test", Devices: []fabric.Device{dev}, MaxClients: clients, Log: slog.New(slog.DiscardHandler),
	})
	var cores []*serving.Core
	for i := range n {
		c := new(serving.Core)
		c.Init(a, i)
		if c.Waiter, err = dev.NewWaiter(fabric.WaitConfig{}); err != nil {
			t.Fatal(err)
		}
		look := func() bool {
			if !c.HasMail() {
				return c.Stopping()
			}
			c.Attend()
			return true
		}
		c.Start(serving.Moves{Poll: look, Close: func() { c.End(func() {}); _ = c.Waiter.Close() }})
		t.Cleanup(c.Stop)
		cores = append(cores, c)
	}
	return a, cores
}

// What is posted is called once, in order, before and after the end of a core.
func TestPost(t *testing.T) {
	_, cores := newCores(t, 1, 1)
	const posters, each = 4, 500
	var mu sync.Mutex // for what is posted after the end
	called := make([][]int, posters)
	var wg sync.WaitGroup
	for p := range posters {
		wg.Go(func() {
			for i := range each {
				cores[0].Post(func() {
					mu.Lock()
					defer mu.Unlock()
					called[p] = append(called[p], i)
				})
				if p == 0 && i == each/2 {
					cores[0].Stop()
				}
			}
		})
	}
	wg.Wait()
	done := false
	if cores[0].Do(func() { done = true }); !done {
		t.Error("Do returned early")
	}
	for p := range called {
		if len(called[p]) != each || !slices.IsSorted(called[p]) {
			t.Errorf("poster %d: %d calls of %d, in order %v", p, len(called[p]), each, slices.IsSorted(called[p]))
		}
	}
	if cores[0].End(func() { t.Error("sessions are dropped twice") }) {
		t.Error("a core ends twice")
	}
}

// A client that leaves the choice to the server is refused only when all cores are full.
func TestChoose(t *testing.T) {
	a, cores := newCores(t, 2, 2)
	if _, err := serving.Choose(a, cores, 2); err == nil {
		t.Error("a core that does not exist")
	}
	for range 2 {
		if c, err := serving.Choose(a, cores, 1); err != nil || c != cores[1] {
			t.Fatalf("core %v, %v", c, err)
		}
	}
	if _, err := serving.Choose(a, cores, 1); err == nil {
		t.Error("a full core takes a client")
	}
	for range 2 {
		if c, err := serving.Choose(a, cores, wire.AnyCore); err != nil || c != cores[0] {
			t.Fatalf("core %v, %v", c, err)
		}
	}
	if _, err := serving.Choose(a, cores, wire.AnyCore); err == nil {
		t.Error("full cores take a client")
	}
	cores[0].Unreserve()
	if err := a.SetMaxClients(3); err == nil {
		t.Error("more clients than the server was made for")
	}
	if err := a.SetMaxClients(1); err != nil {
		t.Error(err)
	}
	if _, err := serving.Choose(a, cores, 0); err == nil {
		t.Error("more clients than the limit")
	}
}

// A client that is refused takes no place meanwhile, so that it cannot have another one refused.
func TestRefusedClientsTakeNoPlace(t *testing.T) {
	_, cores := newCores(t, 1, 1)
	c := cores[0]
	if err := c.Reserve(); err != nil {
		t.Fatal(err)
	}
	var refused atomic.Int64
	var wg sync.WaitGroup
	clients, times := 2, scale.Times(200_000)
	for range clients {
		wg.Go(func() {
			for range times {
				if c.Reserve() == nil {
					t.Error("a full core takes a client")
				}
				refused.Add(1)
			}
		})
	}
	defer wg.Wait()
	for refused.Load() < int64(clients*times) {
		if n := c.Reserved(); n != 1 {
			t.Fatalf("%d places are taken of one", n)
		}
	}
}

// The text of a failure that does not fit is cut between two characters.
func TestFailureIsCutBetweenCharacters(t *testing.T) {
	_, cores := newCores(t, 1, 1)
	const text = "zu groß: 10 €, 𝄞"
	for room := 2; room <= 2+len(text); room++ {
		code, got := wire.ParseFailure(cores[0].Failure(nil, &rpc.Error{Code: 7, Text: text}, room))
		if code != 7 || !utf8.ValidString(got) || !strings.HasPrefix(text, got) || len(got) > room-2 || len(got) <= room-2-utf8.UTFMax {
			t.Errorf("in %d bytes: code %d, %q", room, code, got)
		}
	}
	invalid := strings.Repeat("\x80", 100)
	if _, got := wire.ParseFailure(cores[0].Failure(nil, &rpc.Error{Text: invalid}, 50)); len(got) < 48-utf8.UTFMax {
		t.Errorf("%d bytes are left of a text that is not UTF-8", len(got))
	}
}
