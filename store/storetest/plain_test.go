package storetest

import (
	"bytes"
	"container/list"
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/remora-kv/remora/store"
)

// plain is a simple engine: a map of blobs on the heap and a list
// of them by age. It keeps the contract, except for allocations and heap memory.
type plain struct {
	cfg   store.Config
	items map[string]*blob
	order *list.List // of *blob, the oldest first
	last  uint64
	due   int // Puts and Touches with an expiry so far
	cost  int // least cost of an item, key and value included
	stats store.Stats
}

// blob is one item: a checksum over the rest, a header, the key and the value.
type blob struct {
	name  string // its key in the map
	bytes []byte
	used  bool
	place *list.Element
}

const (
	blobHeader = 40
	blobCost   = 96 // what an item costs beside its key and value
)

var plainEngine = Engine{
	Name:        "plain",
	New:         func(cfg store.Config) (store.Partition, error) { return newPlain(cfg) },
	Memory:      func(p store.Partition) [][]byte { return plainOf(p).memory() },
	KeepsUsed:   true,
	TakesOldest: true,
}

// plainOf returns the plain engine inside wrappers.
func plainOf(p store.Partition) *plain {
	for {
		switch q := p.(type) {
		case *plain:
			return q
		case interface{ inner() store.Partition }:
			p = q.inner()
		}
	}
}

func newPlain(cfg store.Config) (*plain, error) {
	cfg, err := cfg.Complete()
	if err != nil {
		return nil, err
	}
	p := &plain{cfg: cfg, items: map[string]*blob{}, order: list.New(), last: cfg.FirstVersion}
	p.stats.Memory = cfg.Memory
	return p, nil
}

func (p *plain) memory() (all [][]byte) {
	for e := p.order.Front(); e != nil; e = e.Next() {
		all = append(all, blobAt(e).bytes)
	}
	return append(all, make([]byte, 1)) // never empty
}

func blobAt(e *list.Element) *blob {
	b, _ := e.Value.(*blob)
	return b
}

func (b *blob) item() (store.Key, store.Item) {
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(b.bytes[i:]) }
	keyLen := int(word(32) & 0xffff)
	k := store.Key{Hash: word(24), Bytes: b.bytes[blobHeader : blobHeader+keyLen]}
	return k, store.Item{
		Value: b.bytes[blobHeader+keyLen:], Version: word(8), Expires: int64(word(16)),
		Flags: binary.LittleEndian.Uint32(b.bytes[4:]),
	}
}

func (b *blob) setExpires(expires int64) {
	binary.LittleEndian.PutUint64(b.bytes[16:], uint64(expires))
	b.seal()
}

func (b *blob) sum() uint32 { return crc32.ChecksumIEEE(b.bytes[4:]) }
func (b *blob) seal()       { binary.LittleEndian.PutUint32(b.bytes, b.sum()) }

func newBlob(k store.Key, e store.Entry, version uint64) *blob {
	b := &blob{name: string(k.Bytes), bytes: make([]byte, blobHeader, blobHeader+len(k.Bytes)+len(e.Value))}
	for i, w := range []uint64{uint64(e.Flags) << 32, version, uint64(e.Expires), k.Hash, uint64(len(k.Bytes))} {
		binary.LittleEndian.PutUint64(b.bytes[8*i:], w)
	}
	b.bytes = append(append(b.bytes, k.Bytes...), e.Value...)
	b.seal()
	return b
}

// find returns the item of a key unless it has expired.
func (p *plain) find(k store.Key, now int64) (*blob, store.Item) {
	b := p.items[string(k.Bytes)]
	if b == nil {
		return nil, store.Item{}
	}
	_, item := b.item()
	if item.Expires != 0 && item.Expires <= now {
		return nil, store.Item{}
	}
	return b, item
}

func (p *plain) Get(k store.Key, now int64) (store.Item, error) {
	p.stats.Gets++
	b, item := p.find(k, now)
	if b == nil {
		return store.Item{}, store.ErrNotFound
	}
	p.stats.Hits++
	b.used = true
	return item, nil
}

func (p *plain) Put(k store.Key, e store.Entry, c store.Condition, now int64) (uint64, error) {
	if len(k.Bytes) > store.MaxKey || len(e.Value) > p.cfg.MaxValue {
		return 0, store.ErrTooLarge
	}
	if _, item := p.find(k, now); c.Met(item.Version) != nil {
		return 0, c.Met(item.Version)
	}
	b := newBlob(k, e, p.last+1)
	old := p.items[b.name]
	if !p.makeRoom(b, old, now) {
		p.stats.Refused++
		return 0, store.ErrFull
	}
	if old = p.items[b.name]; old != nil {
		p.remove(old)
	}
	p.last++
	p.due += int(count(e.Expires != 0))
	b.place = p.order.PushBack(b)
	p.items[b.name] = b
	p.account(b, 1)
	p.stats.Puts++
	return p.last, nil
}

func (p *plain) makeRoom(b, old *blob, now int64) bool {
	need := p.costOf(b)
	if need > p.cfg.Memory/2 {
		return false
	}
	if old != nil && p.cfg.Mode == store.Store {
		need -= p.costOf(old)
	}
	for e := p.order.Front(); e != nil && p.due > 0 && p.cfg.Mode == store.Store && p.stats.ItemBytes+need > p.cfg.Memory; {
		victim := blobAt(e)
		if e = e.Next(); victim != old && victim.expired(now) {
			p.stats.Expired++
			p.remove(victim)
		}
	}
	for p.cfg.Mode == store.Cache && p.stats.ItemBytes+need > p.cfg.Memory {
		p.evict()
	}
	return p.stats.ItemBytes+need <= p.cfg.Memory
}

// costOf returns the memory that an item takes.
func (p *plain) costOf(b *blob) int64 { return int64(max(len(b.bytes)-blobHeader+blobCost, p.cost)) }

func (b *blob) expired(now int64) bool {
	_, item := b.item()
	return item.Expires != 0 && item.Expires <= now
}

func (p *plain) evict() {
	e := p.order.Front()
	victim := blobAt(e)
	if victim.used && p.cfg.Eviction == store.SecondChance {
		victim.used = false
		p.order.MoveToBack(e)
		p.stats.Rescued++
		return
	}
	p.stats.Evicted++
	p.remove(victim)
}

func (p *plain) remove(b *blob) {
	delete(p.items, b.name)
	p.order.Remove(b.place)
	p.account(b, -1)
}

func (p *plain) account(b *blob, sign int64) {
	k, item := b.item()
	p.stats.Items += sign
	p.stats.KeyBytes += sign * int64(len(k.Bytes))
	p.stats.ValueBytes += sign * int64(len(item.Value))
	p.stats.ItemBytes += sign * p.costOf(b)
}

func (p *plain) Delete(k store.Key, c store.Condition, now int64) error {
	b, item := p.find(k, now)
	if err := c.Met(item.Version); err != nil {
		return err
	}
	if b == nil {
		return store.ErrNotFound
	}
	p.stats.Deletes++
	p.remove(b)
	return nil
}

func (p *plain) Touch(k store.Key, expires, now int64) error {
	b, _ := p.find(k, now)
	if b == nil {
		return store.ErrNotFound
	}
	b.setExpires(expires)
	p.due += int(count(expires != 0))
	b.used = true
	return nil
}

func (p *plain) Each(now int64, visit func(k store.Key, item store.Item) bool) {
	for e := p.order.Front(); e != nil; e = e.Next() {
		if b := blobAt(e); !b.expired(now) {
			if k, item := b.item(); !visit(k, item) {
				return
			}
		}
	}
}

func (p *plain) Stats() store.Stats { return p.stats }

func (p *plain) Check() error {
	for name, b := range p.items {
		if binary.LittleEndian.Uint32(b.bytes) != b.sum() || !bytes.HasPrefix(b.bytes[blobHeader:], []byte(name)) {
			return fmt.Errorf("%w: item %q", store.ErrCorrupt, name)
		}
	}
	return nil
}

func (p *plain) Close() error { return nil }
