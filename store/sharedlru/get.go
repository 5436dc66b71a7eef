package sharedlru

import "github.com/remora-kv/remora/store"

// Get returns the item and makes it the newest. The value is valid until the next call
// of this handle.
func (h *Handle) Get(k store.Key, now int64) (item store.Item, err error) {
	err = h.Read(k, now, &item)
	return item, err
}

// Read does what Get does, and writes the item to *item.
func (h *Handle) Read(k store.Key, now int64, item *store.Item) error {
	t := h.table
	t.mu.Lock()
	defer t.mu.Unlock()
	h.calls.gets++
	at := t.live(&k, now)
	if at == 0 {
		return store.ErrNotFound
	}
	h.calls.hits++
	t.use(at)
	t.show(at, h.view, item)
	return nil
}

// Touch sets the time when the item expires, and makes it the newest.
func (h *Handle) Touch(k store.Key, expires, now int64) error {
	t := h.table
	t.mu.Lock()
	defer t.mu.Unlock()
	at := t.live(&k, now)
	if at == 0 {
		return store.ErrNotFound
	}
	t.mortal += dies(expires) - dies(t.expires(at))
	t.chunks.setLong(at, atExpires, uint64(expires))
	t.seal(at)
	t.use(at)
	return nil
}

// Each visits the items of this handle's share in the order of their chunks. It does not
// hold the lock during a visit: items that others change meanwhile may be visited or not.
func (h *Handle) Each(now int64, visit func(k store.Key, item store.Item) bool) {
	var k store.Key
	var item store.Item
	for at := ref(1); h.nextFrom(&at, now, &k, &item); at++ {
		if !visit(k, item) {
			return
		}
	}
}

// nextFrom finds the first item of the share from chunk *at on, and sets *at to it.
func (h *Handle) nextFrom(at *ref, now int64, k *store.Key, item *store.Item) bool {
	t := h.table
	t.mu.Lock()
	defer t.mu.Unlock()
	for ; *at < t.chunks.fresh; *at++ {
		if t.chunks.kindOf(*at) == kindItem && t.shareOf(*at) == &t.shares[h.number] && !t.expired(*at, now) {
			t.showKey(*at, h.view, k, item)
			return true
		}
	}
	return false
}
