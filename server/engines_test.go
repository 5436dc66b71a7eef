package server_test

import (
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/remora-kv/remora/server"
	"github.com/remora-kv/remora/store"
)

// addEngines adds engines that tests look into, and flawed ones.
func addEngines() {
	for _, name := range realEngines {
		server.AddEngine("kept "+name, name, func(cfg store.Config, part store.Partition) (store.Partition, error) {
			k := keptBy(cfg.Seed)
			k.change(func() { k.open++ })
			return &keptPartition{part, k}, nil
		})
	}
	for _, flaw := range flaws {
		server.AddEngine(flaw.engine, server.DefaultEngine, func(_ store.Config, part store.Partition) (store.Partition, error) {
			return &flawedPartition{Partition: part, flaw: flaw, old: map[string]oldItem{}}, nil
		})
	}
	server.AddEngine("written down", server.DefaultEngine, writeDown)
	server.AddEngine("counts hints", server.DefaultEngine, countHints)
}

// kept is what the partitions of a server held when they were closed.
type kept struct {
	mu     sync.Mutex
	open   int // partitions
	items  map[string]store.Item
	broken error // of Check
}

var (
	keptMu  sync.Mutex
	keptAll = map[store.Seed]*kept{}
)

// keptBy returns what belongs to the server with a seed.
func keptBy(seed store.Seed) *kept {
	keptMu.Lock()
	defer keptMu.Unlock()
	if keptAll[seed] == nil {
		keptAll[seed] = &kept{items: map[string]store.Item{}}
	}
	return keptAll[seed]
}

// openPartitions counts those of all servers.
func openPartitions() (n int) {
	keptMu.Lock()
	defer keptMu.Unlock()
	for _, k := range keptAll {
		k.change(func() { n += k.open })
	}
	return n
}

func (k *kept) change(f func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	f()
}

// keptPartition leaves behind what it held.
type keptPartition struct {
	store.Partition
	kept *kept
}

// Close implements store.Partition.
func (p *keptPartition) Close() error {
	p.kept.change(func() {
		p.kept.open--
		if err := p.Check(); err != nil {
			p.kept.broken = err
		}
		p.Each(0, func(k store.Key, item store.Item) bool {
			item.Value = append([]byte(nil), item.Value...)
			p.kept.items[string(k.Bytes)] = item
			return true
		})
	})
	return p.Partition.Close()
}

// flaw is something that no partition may do.
type flaw struct {
	engine string
	put    func(p *flawedPartition, k store.Key, e store.Entry, c store.Condition, now int64) (uint64, error, bool)
	get    func(p *flawedPartition, k store.Key) (store.Item, bool)
}

// oldItem is what was under a key before.
type oldItem struct {
	value   []byte
	version uint64
}

// flawedPartition is a partition with a flaw.
type flawedPartition struct {
	store.Partition
	flaw *flaw
	old  map[string]oldItem
	n    int
}

// flaws are those that a linearizability test must notice.
var flaws = []*flaw{
	{engine: "loses acknowledged writes", put: func(p *flawedPartition, k store.Key, e store.Entry, c store.Condition, now int64) (uint64, error, bool) {
		item, err := p.Partition.Get(k, now)
		if c != store.Always() || p.n%9 != 0 || err != nil {
			return 0, nil, false
		}
		e.Value = append([]byte(nil), item.Value...) // the old value stays
		version, err := p.Partition.Put(k, e, c, now)
		return version, err, true
	}},
	{engine: "applies a CAS twice", put: func(p *flawedPartition, k store.Key, e store.Entry, c store.Condition, now int64) (uint64, error, bool) {
		old := p.old[string(k.Bytes)]
		if old.version == 0 || c != store.IfVersion(old.version) {
			return 0, nil, false
		}
		version, err := p.Partition.Put(k, e, store.IfPresent(), now) // the condition was met once
		return version, err, true
	}},
	{engine: "returns stale values", get: func(p *flawedPartition, k store.Key) (store.Item, bool) {
		old := p.old[string(k.Bytes)]
		return store.Item{Value: old.value, Version: old.version}, p.n%9 == 0 && old.version != 0
	}},
}

// Get implements store.Partition.
func (p *flawedPartition) Get(k store.Key, now int64) (store.Item, error) {
	if p.n++; p.flaw.get != nil {
		if item, ok := p.flaw.get(p, k); ok {
			return item, nil
		}
	}
	return p.Partition.Get(k, now)
}

// Put implements store.Partition.
func (p *flawedPartition) Put(k store.Key, e store.Entry, c store.Condition, now int64) (uint64, error) {
	if p.n++; p.flaw.put != nil {
		if version, err, ok := p.flaw.put(p, k, e, c, now); ok {
			return version, err
		}
	}
	if item, err := p.Partition.Get(k, now); err == nil {
		p.old[string(k.Bytes)] = oldItem{append([]byte(nil), item.Value...), item.Version}
	}
	return p.Partition.Put(k, e, c, now)
}

// writtenVar names the file that a server writes down in what it has done.
const writtenVar = "REMORA_SERVER_TEST_WRITTEN"

// writeDown has a partition write the value of every put that happened into a file,
// before anybody can be told. The file outlives the process.
func writeDown(_ store.Config, part store.Partition) (store.Partition, error) {
	file, err := os.OpenFile(os.Getenv(writtenVar), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	return &writtenPartition{part, file}, err
}

type writtenPartition struct {
	store.Partition
	file *os.File
}

// Put implements store.Partition.
func (p *writtenPartition) Put(k store.Key, e store.Entry, c store.Condition, now int64) (uint64, error) {
	version, err := p.Partition.Put(k, e, c, now)
	if err == nil {
		if _, err := fmt.Fprintf(p.file, "%s\n", e.Value); err != nil {
			panic(err)
		}
	}
	return version, err
}

// Close implements store.Partition.
func (p *writtenPartition) Close() error {
	_ = p.file.Close()
	return p.Partition.Close()
}

// written reads what a server has written down, as a set.
func written(path string) (map[string]bool, error) {
	text, err := os.ReadFile(path)
	values := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		values[strings.TrimSuffix(line, "\n")] = true
	}
	return values, err
}
