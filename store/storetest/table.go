package storetest

import (
	"bytes"
	"cmp"
	"errors"
	"slices"

	"github.com/remora-kv/remora/store"
)

// table is a partition beside a model of it. Each call goes to both; the answer of the
// partition must be one that the model allows, and its Stats must match (see
// audit.go). Keys and values are passed in buffers that are overwritten
// after the call (S5).
type table struct {
	failer
	engine Engine
	p      store.Partition
	cfg    store.Config
	hash   func(key []byte) uint64
	now    int64
	model  *model
	stats  store.Stats // after the last call
	views  []view
	// refusable says that Put may return ErrFull for no reason.
	refusable bool

	keyBuf, valueBuf []byte
}

// view is a slice that the partition returned, and its expected contents until a
// call may change it.
type view struct {
	of   string
	got  []byte
	want []byte
}

// maxViews is how many views are watched at a time.
const maxViews = 16

// scribble is the byte that overwrites inputs after a call.
const scribble = 0xA5

func newTable(f failer, engine Engine, cfg store.Config) (*table, error) {
	p, err := engine.New(cfg)
	if err != nil {
		return nil, err
	}
	full, err := cfg.Complete()
	if err != nil {
		return nil, err
	}
	full.Arena = cfg.Arena
	tb := &table{failer: f, engine: engine, p: p, cfg: full, hash: cfg.Seed.Hash, model: newModel(full)}
	tb.stats = p.Stats()
	tb.auditLevels()
	return tb, nil
}

// key returns the key with its hash, in the buffer for keys.
func (tb *table) key(key []byte) store.Key {
	tb.keyBuf = append(tb.keyBuf[:0], key...)
	return store.Key{Hash: tb.hash(key), Bytes: tb.keyBuf}
}

// scribbleInputs overwrites the buffers of the last call.
func (tb *table) scribbleInputs() {
	for _, b := range [][]byte{tb.keyBuf, tb.valueBuf} {
		for i := range b {
			b[i] = scribble
		}
	}
}

// get gets a key, and returns its record, or nil if the partition does not have it.
func (tb *table) get(key []byte) *record {
	tb.Helper()
	tb.model.at(tb.now)
	tb.endShortViews()
	item := store.Item{Version: scribble}
	err := store.ReaderOf(tb.p).Read(tb.key(key), tb.now, &item)
	tb.scribbleInputs()
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		tb.Fatalf("Get of key %s: %v", short(key), err)
	}
	if err != nil && (item.Version != scribble || item.Value != nil) {
		tb.Fatalf("Read of key %s wrote %+v although it failed: %v", short(key), item, err)
	}
	r := tb.observe("Get", key, err, nil, store.ErrNotFound)
	if r != nil {
		tb.compare("Get", r, item)
		tb.watch("Get of "+short(key), item.Value, r.value)
	}
	tb.audit(effect{gets: 1, hits: count(r != nil)})
	return r
}

// compare fails unless the item matches the record.
func (tb *table) compare(what string, r *record, item store.Item) {
	tb.Helper()
	if d := difference(item.Value, r.value); d != "" {
		tb.Fatalf("%s of key %s: wrong value: %s", what, short(r.key), d)
	}
	if item.Version != r.version || item.Expires != r.expires || item.Flags != r.flags {
		tb.Fatalf("%s of key %s: version %d, expires %d, flags %#x; want version %d, expires %d, flags %#x", what,
			short(r.key), item.Version, item.Expires, item.Flags, r.version, r.expires, r.flags)
	}
}

// put puts copies of key and e.Value, which are overwritten afterwards.
func (tb *table) put(key []byte, e store.Entry, c store.Condition) (uint64, error) {
	tb.Helper()
	k := tb.key(key)
	tb.valueBuf = append(tb.valueBuf[:0], e.Value...)
	e.Value = tb.valueBuf
	version, err := tb.putAsIs(k, e, c)
	tb.scribbleInputs()
	return version, err
}

// putAsIs puts a key and a value that may alias a view.
func (tb *table) putAsIs(k store.Key, e store.Entry, c store.Condition) (uint64, error) {
	tb.Helper()
	tb.model.at(tb.now)
	r := &record{key: bytes.Clone(k.Bytes), hash: k.Hash, value: bytes.Clone(e.Value), flags: e.Flags}
	before := tb.model.belief(r.key)
	tb.verifyViews()
	tb.views = tb.views[:0]
	version, err := tb.p.Put(k, e, c, tb.now)
	switch {
	case errors.Is(err, store.ErrTooLarge):
		if !tb.tooLarge(r) {
			tb.Fatalf("Put of a key of %d and a value of %d bytes: %v", len(r.key), len(r.value), err)
		}
		tb.audit(effect{})
	case errors.Is(err, store.ErrFull):
		tb.mayRefuse(r, c, before)
		tb.audit(effect{refused: 1})
	default:
		tb.observe("Put", r.key, err, metIf(c, before), c.Met(0))
		if err == nil {
			r.version = version
			tb.stored(r, e.Expires)
		}
		tb.audit(effect{puts: count(err == nil), created: err == nil && before.absent, replaced: err == nil && before.record != nil})
	}
	return version, err
}

func (tb *table) tooLarge(r *record) bool {
	return len(r.key) > tb.maxKey() || len(r.value) > tb.maxValue()
}

// maxKey is the length of the longest key that the engine takes.
func (tb *table) maxKey() int {
	if tb.engine.MaxKey > 0 {
		return tb.engine.MaxKey
	}
	return store.MaxKey
}

// maxValue is the length of the longest value that the partition takes.
func (tb *table) maxValue() int {
	if tb.engine.MaxValue > 0 {
		return min(tb.engine.MaxValue, tb.cfg.MaxValue)
	}
	return tb.cfg.MaxValue
}

// cutKey cuts a key to the engine's limit.
func (tb *table) cutKey(key []byte) []byte { return key[:min(len(key), tb.maxKey())] }

// cutValue cuts a value to the engine's limit, unless it exceeds Config.MaxValue.
func (tb *table) cutValue(value []byte) []byte {
	if most := tb.engine.MaxValue; most > 0 && len(value) > most {
		return value[:most]
	}
	return value
}

// stored adds a successful Put to the model.
func (tb *table) stored(r *record, expires int64) {
	tb.Helper()
	if tb.tooLarge(r) {
		tb.Fatalf("Put accepted a key of %d and a value of %d bytes; the limits are %d and %d",
			len(r.key), len(r.value), tb.maxKey(), tb.maxValue())
	}
	if r.version <= tb.model.last || r.version > store.MaxVersion {
		tb.Fatalf("Put of key %s returned version %d after %d; versions must be above %d and at most %d",
			short(r.key), r.version, tb.model.last, tb.cfg.FirstVersion, uint64(store.MaxVersion))
	}
	r.expires = expires
	tb.model.keep(r)
}

// mayRefuse fails if the partition had no reason to return ErrFull.
func (tb *table) mayRefuse(r *record, c store.Condition, b belief) {
	tb.Helper()
	met := b.present && c.Met(b.record.version) == nil || b.absent && c.Met(0) == nil
	if !met {
		tb.Fatalf("Put of key %s is refused as full, but its condition is not met", short(r.key))
	}
	need := int64(len(r.key) + len(r.value))
	st := tb.stats
	switch {
	case tb.refusable, need > tb.cfg.Memory/4:
	case tb.cfg.Mode == store.Cache:
		tb.Fatalf("Put of %d bytes is refused by a cache of %d bytes", need, tb.cfg.Memory)
	case need > tb.cfg.Memory/8: // needs one piece
	case float64(st.IndexBytes+st.ItemBytes+need) < tb.engine.fill()*float64(tb.cfg.Memory):
		tb.Fatalf("Put of %d bytes is refused at %d of %d bytes", need, st.IndexBytes+st.ItemBytes, st.Memory)
	}
}

// del deletes a key.
func (tb *table) del(key []byte, c store.Condition) error {
	tb.Helper()
	tb.model.at(tb.now)
	before := tb.model.belief(key)
	tb.verifyViews()
	tb.views = tb.views[:0]
	err := tb.p.Delete(tb.key(key), c, tb.now)
	tb.scribbleInputs()
	absent := c.Met(0)
	if absent == nil {
		absent = store.ErrNotFound
	}
	tb.observe("Delete", key, err, metIf(c, before), absent)
	if err == nil {
		tb.model.forget(key)
	}
	tb.audit(effect{deletes: count(err == nil)})
	return err
}

// touch sets the expiry of a key.
func (tb *table) touch(key []byte, expires int64) error {
	tb.Helper()
	tb.model.at(tb.now)
	tb.verifyViews()
	tb.views = tb.views[:0]
	err := tb.p.Touch(tb.key(key), expires, tb.now)
	tb.scribbleInputs()
	if r := tb.observe("Touch", key, err, nil, store.ErrNotFound); r != nil {
		tb.model.expiring(r, expires)
	}
	tb.audit(effect{})
	return err
}

// tryPut, tryDel and tryTouch are for cases that leave the judgement of the
// answer to the table.
func (tb *table) tryPut(key []byte, e store.Entry, c store.Condition) {
	tb.Helper()
	_, _ = tb.put(key, e, c)
}

func (tb *table) tryDel(key []byte, c store.Condition) {
	tb.Helper()
	_ = tb.del(key, c)
}

func (tb *table) tryTouch(key []byte, expires int64) {
	tb.Helper()
	_ = tb.touch(key, expires)
}

// metIf returns the error of a condition if the partition has the item.
func metIf(c store.Condition, b belief) error {
	if b.record == nil {
		return nil
	}
	return c.Met(b.record.version)
}

// observe concludes from an answer whether the partition has the item: the answer is
// ifPresent if it does and ifAbsent if not. It fails if the answer is neither or is not
// allowed, and returns the record of an item that exists.
func (tb *table) observe(what string, key []byte, got, ifPresent, ifAbsent error) *record {
	tb.Helper()
	b := tb.model.belief(key)
	has := b.present && same(got, ifPresent)
	hasNot := b.absent && same(got, ifAbsent)
	switch {
	case has:
		if !hasNot {
			b.record.reclaimable = false // it was not reclaimed
		}
		return b.record
	case !hasNot && b.present && b.absent:
		tb.Fatalf("%s of key %s: got %v, want %v, or %v if it was lost", what, short(key), got, ifPresent, ifAbsent)
	case !hasNot && b.present:
		tb.Fatalf("%s of key %s: got %v, want %v", what, short(key), got, ifPresent)
	case !hasNot:
		tb.Fatalf("%s of key %s, which should not exist: got %v, want %v", what, short(key), got, ifAbsent)
	case b.present && !b.record.reclaimable:
		tb.lose(b.record)
	case b.present:
		tb.model.forget(key)
	}
	return nil
}

// lose records that a cache has lost an item. There must have been an
// eviction for it.
func (tb *table) lose(r *record) {
	tb.Helper()
	tb.model.forget(r.key)
	tb.model.lost++
	if evicted := tb.p.Stats().Evicted; tb.model.lost > evicted {
		tb.Fatalf("key %s, version %d, was lost: %d items were lost by now, but only %d evicted",
			short(r.key), r.version, tb.model.lost, evicted)
	}
}

// same reports whether an error is the wanted one, nil for none.
func same(got, want error) bool {
	if want == nil {
		return got == nil
	}
	return errors.Is(got, want)
}

// watch adds a view to be checked until a call may change it.
func (tb *table) watch(of string, got, want []byte) {
	if len(tb.views) < maxViews {
		tb.views = append(tb.views, view{of, got, want})
	}
}

// endShortViews forgets views that the next call may overwrite, although it changes
// no item.
func (tb *table) endShortViews() {
	tb.Helper()
	if tb.engine.ShortViews {
		tb.verifyViews()
		tb.views = tb.views[:0]
	}
}

// verifyViews fails if a view has changed.
func (tb *table) verifyViews() {
	tb.Helper()
	for _, v := range tb.views {
		if d := difference(v.got, v.want); d != "" {
			tb.Fatalf("the view of %s changed before a call that may change it: %s", v.of, d)
		}
	}
}

// close compares everything, and closes the partition if it is open.
func (tb *table) close() {
	tb.Helper()
	if tb.p == nil {
		return
	}
	tb.sync()
	tb.verifyViews()
	tb.drop()
}

// drop closes the partition without comparing it.
func (tb *table) drop() {
	tb.Helper()
	if tb.p == nil {
		return
	}
	if err := tb.p.Close(); err != nil {
		tb.Fatalf("Close: %v", err)
	}
	tb.p = nil
	if tb.cfg.Arena != nil {
		tb.noBlocks(tb.cfg.Arena)
	}
}

// noBlocks fails if an arena has blocks.
func (tb *table) noBlocks(a *store.Arena) {
	tb.Helper()
	if left := a.Usage(); len(left) > 0 {
		tb.Fatalf("Close left memory behind: %+v", left)
	}
}

// sorted returns the records in the same order in every run.
func (tb *table) sorted() []*record {
	all := make([]*record, 0, len(tb.model.items))
	for _, r := range tb.model.items {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b *record) int { return cmp.Compare(a.version, b.version) })
	return all
}

// shuffled returns the records in a random order.
func (tb *table) shuffled(shuffle func(n int, swap func(i, j int))) []*record {
	all := tb.sorted()
	shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}
