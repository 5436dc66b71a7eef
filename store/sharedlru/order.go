package sharedlru

// order is the LRU list of all items (H4).
type order struct {
	newest, oldest ref
}

// pushNewest inserts an item in front of the list.
func (t *Table) pushNewest(at ref) {
	c, o := &t.chunks, &t.order
	c.setLink(at, atNewer, 0)
	c.setLink(at, atOlder, o.newest)
	if o.newest != 0 {
		c.setLink(o.newest, atNewer, at)
	} else {
		o.oldest = at
	}
	o.newest = at
}

// pull removes an item from the list.
func (t *Table) pull(at ref) {
	c, o := &t.chunks, &t.order
	newer, older := c.link(at, atNewer), c.link(at, atOlder)
	if newer != 0 {
		c.setLink(newer, atOlder, older)
	} else {
		o.newest = older
	}
	if older != 0 {
		c.setLink(older, atNewer, newer)
	} else {
		o.oldest = newer
	}
}

// use makes an item the newest.
func (t *Table) use(at ref) {
	if t.order.newest != at {
		t.pull(at)
		t.pushNewest(at)
	}
}
