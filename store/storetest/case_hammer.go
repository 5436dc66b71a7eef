package storetest

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/remora-kv/remora/internal/fence"
	"github.com/remora-kv/remora/store"
)

func hammerCases() []*testCase {
	return join(
		both("E1/hammer/few-keys", ruleForged, func(t *trial) { hammer(t, 3, 600) }),
		both("E1/hammer/one-size", ruleProves, func(t *trial) { hammer(t, 6, 0) }),
		both("E2/hammer/many-keys", ruleLater, func(t *trial) { hammer(t, 40, 300) }),
	)
}

// hammered is a key that a writer changes while readers look for it. The writer
// increments began before a change and done after it. A value contains the number of its change.
type hammered struct {
	key   store.Key
	began atomic.Uint64
	done  atomic.Uint64
	// phase counts up: gone, coming, there, going, gone again.
	phase atomic.Uint64
}

// Phases of a key, modulo 4.
const (
	isGone = iota
	isComing
	isThere
	isGoing
)

const hammerSize = 24 // length of the head of a value

// hammerValue fills in the value of change n of key i.
func hammerValue(b []byte, i int, n uint64) {
	binary.LittleEndian.PutUint64(b, n)
	binary.LittleEndian.PutUint64(b[8:], uint64(i))
	binary.LittleEndian.PutUint64(b[16:], uint64(len(b)))
	fillPattern(b[hammerSize:], n<<8|uint64(i))
}

// faultOfHammer returns the fault of an item of key i, or "", and the number of its change.
func faultOfHammer(item store.Item, i int, want []byte) (n uint64, fault string) {
	if len(item.Value) < hammerSize {
		return 0, fmt.Sprintf("a value of %d bytes", len(item.Value))
	}
	n = binary.LittleEndian.Uint64(item.Value)
	want = want[:len(item.Value)]
	hammerValue(want, i, n)
	if d := difference(item.Value, want); d != "" {
		return n, "wrong value: " + d
	}
	if item.Flags != uint32(n) || item.Expires != int64(n) {
		return n, fmt.Sprintf("flags %d and expiry %d with the value of change %d", item.Flags, item.Expires, n)
	}
	return n, ""
}

// hammer lets one writer change keys as fast as it can while readers look for them. In a
// store, keys with even numbers are never deleted, so they are never Missing.
func hammer(t *trial, keys, spread int) {
	x := t.openExport()
	all := make([]*hammered, keys)
	for i := range all {
		key := exportKey(i)
		all[i] = &hammered{key: store.Key{Hash: x.hash(key), Bytes: key}}
	}
	w := &hammerWriter{t: t, x: x, keys: all, random: t.random(0), spread: spread, value: make([]byte, hammerSize+spread)}
	for i := range all {
		w.put(i)
	}
	var stop atomic.Bool
	var readers sync.WaitGroup
	counts := make([]hammerReader, 2)
	for i := range counts {
		counts[i] = hammerReader{t: t, x: x, f: x.newFinder(), keys: all, random: t.random(1 + i), want: make([]byte, longestSpan)}
		readers.Go(func() { counts[i].run(&stop) })
	}
	for n := range t.times(7500) {
		if w.change(); t.Failed() {
			break
		}
		if n%16 == 0 {
			runtime.Gosched() // lets readers run if there is one processor
		}
	}
	stop.Store(true)
	readers.Wait()
	for _, r := range counts {
		t.Logf("%d searches: %d found, %d missing, %d ask; %d spans", r.searches, r.outcomes[store.Found], r.outcomes[store.Missing], r.outcomes[store.Ask], r.spans)
		if r.outcomes[store.Found] == 0 && !t.Failed() {
			t.Fatalf("no key was Found in %d searches", r.searches)
		}
	}
	x.drop()
}

// hammerWriter changes keys.
type hammerWriter struct {
	t      *trial
	x      *exported
	keys   []*hammered
	random *rand.Rand
	spread int // range of the lengths of values
	value  []byte
}

func (w *hammerWriter) change() {
	i := w.random.IntN(len(w.keys))
	if i%2 == 1 && w.random.IntN(4) == 0 {
		w.delete(i)
		return
	}
	w.put(i)
}

func (w *hammerWriter) put(i int) {
	h := w.keys[i]
	n := h.began.Load() + 1
	value := w.value[:hammerSize+w.random.IntN(w.spread+1)]
	value = value[:min(len(value), w.x.maxValue())]
	hammerValue(value, i, n)
	h.began.Store(n)
	isNew := h.phase.Load()%4 == isGone
	if isNew {
		h.phase.Add(1)
	}
	_, err := w.x.p.Put(h.key, store.Entry{Value: value, Flags: uint32(n), Expires: int64(n)}, store.Always(), 0)
	switch {
	case err != nil && isNew: // no room
		h.phase.Add(3)
	case err == nil:
		h.done.Store(n)
		if isNew {
			h.phase.Add(1)
		}
	}
}

func (w *hammerWriter) delete(i int) {
	h := w.keys[i]
	if h.phase.Load()%4 == isGone {
		return
	}
	h.phase.Add(1)
	_ = w.x.p.Delete(h.key, store.Always(), 0)
	h.phase.Add(1)
}

// hammerReader looks for keys.
type hammerReader struct {
	t        *trial
	x        *exported
	f        store.Finder
	keys     []*hammered
	random   *rand.Rand
	want     []byte
	buf      []byte
	searches int
	spans    int
	outcomes [store.Ask + 1]int
}

func (r *hammerReader) run(stop *atomic.Bool) {
	defer r.t.rescue()
	for !stop.Load() || r.outcomes[store.Found] == 0 && r.searches < 100_000 {
		if r.t.Failed() {
			return
		}
		r.search(r.random.IntN(len(r.keys)))
	}
}

// search looks for key i, and judges the outcome by the changes that were done before Start and
// begun before the end.
func (r *hammerReader) search(i int) {
	h := r.keys[i]
	done, phase := h.done.Load(), h.phase.Load()
	span, outcome := r.f.Start(h.key), store.More
	r.searches++
	for n := 0; outcome == store.More; n++ {
		if n > r.x.engine.spans() {
			r.t.Errorf("a search asked for more than %d spans", n-1)
			return
		}
		r.spans++
		span, outcome = r.f.Look(r.read(span))
		if r.random.IntN(64) == 0 {
			runtime.Gosched() // between the index and the item
		}
	}
	r.outcomes[outcome]++
	switch stayed := h.phase.Load() == phase; {
	case outcome == store.Found:
		item := r.f.Item()
		n, fault := faultOfHammer(item, i, r.want)
		if began := h.began.Load(); fault == "" && (n < done || n > began) {
			fault = fmt.Sprintf("the value of change %d, but %d was done at Start and %d begun at the end", n, done, began)
		}
		if fault == "" && stayed && phase%4 == isGone {
			fault = fmt.Sprintf("the value of change %d, which was deleted before Start", n)
		}
		if fault != "" {
			r.t.Errorf("key %d: Found %s", i, fault)
		}
	case outcome == store.Missing && r.t.mode == store.Store && stayed && phase%4 == isThere:
		r.t.Errorf("key %d is Missing, but it existed all the time", i)
	}
}

// read copies a span as a fabric does, sometimes with a pause in the middle.
func (r *hammerReader) read(span store.Span) []byte {
	if cap(r.buf) < span.Len {
		r.buf = make([]byte, span.Len)
	}
	b := r.buf[:span.Len:span.Len]
	from := r.x.ex.Areas[span.Area].Bytes()[span.Off:][:span.Len]
	cut := 0
	if r.random.IntN(4) == 0 {
		cut = r.random.IntN(span.Len) &^ 7
		fence.CopyIn(b, from[:cut])
		runtime.Gosched()
	}
	fence.CopyIn(b[cut:], from[cut:])
	return b
}
