package storetest

import "github.com/remora-kv/remora/store"

// record is an item in the model.
type record struct {
	key     []byte
	hash    uint64
	value   []byte
	flags   uint32
	expires int64
	version uint64

	// reclaimable says that a call was made when the item had expired. The engine may
	// have reclaimed it or not: if the clock steps back, both answers are right.
	reclaimable bool
}

func (r *record) expired(now int64) bool { return r.expires != 0 && r.expires <= now }

// model is a map of the items that a partition should hold. In Cache mode it may hold
// more than the partition: items whose loss was not noticed yet.
type model struct {
	mode  store.Mode
	items map[string]*record
	now   int64  // time of the last call
	last  uint64 // the largest version so far
	lost  uint64 // items whose loss was noticed
	due   int    // items that have an expiry
}

func newModel(cfg store.Config) *model {
	return &model{mode: cfg.Mode, items: map[string]*record{}, last: cfg.FirstVersion}
}

// belief is what the model knows about a key in the partition.
type belief struct {
	record  *record // nil if the key was never put
	present bool    // the partition may have the item
	absent  bool    // the partition may not have it
}

// belief returns what the model knows about a key.
func (m *model) belief(key []byte) belief {
	r := m.items[string(key)]
	switch {
	case r == nil:
		return belief{absent: true}
	case r.expired(m.now):
		return belief{record: r, absent: true}
	case r.reclaimable || m.mode == store.Cache:
		return belief{record: r, present: true, absent: true}
	}
	return belief{record: r, present: true}
}

// at tells the model the time of a call.
func (m *model) at(now int64) {
	if m.now == now {
		return
	}
	m.now = now
	if m.due > 0 {
		for _, r := range m.items {
			r.reclaimable = r.reclaimable || r.expired(now)
		}
	}
}

// keep adds a record.
func (m *model) keep(r *record) {
	m.forget(r.key)
	m.items[string(r.key)] = r
	m.expiring(r, r.expires)
	m.last = r.version
}

// expiring sets the expiry of a record.
func (m *model) expiring(r *record, expires int64) {
	if r.expires = expires; expires != 0 {
		m.due++ // an upper bound
	}
	r.reclaimable = r.expired(m.now)
}

// forget removes the record of a key.
func (m *model) forget(key []byte) { delete(m.items, string(key)) }
