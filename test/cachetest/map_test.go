package cachetest_test

import (
	"context"
	"sync"

	"github.com/remora-kv/remora/test/cachetest"
)

// mapCache is a cache that is nothing but a map, for any number of goroutines. A
// flaw, when not nil, may answer in its place.
type mapCache struct {
	mu      sync.Mutex
	items   map[string]mapItem
	old     map[string]mapItem // what each key was before
	version uint64
	n       int
	flaw    func(m *mapCache, c *cachetest.Call) (cachetest.Outcome, bool)
}

type mapItem struct {
	value   string
	version uint64
}

func newMapCache() *mapCache {
	return &mapCache{items: map[string]mapItem{}, old: map[string]mapItem{}}
}

// Do implements cachetest.Cache.
func (m *mapCache) Do(_ context.Context, c *cachetest.Call) cachetest.Outcome {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.n++
	if m.flaw != nil {
		if o, ok := m.flaw(m, c); ok {
			return o
		}
	}
	return m.do(c)
}

func (m *mapCache) do(c *cachetest.Call) cachetest.Outcome {
	item, there := m.items[c.Key]
	switch {
	case c.Kind == cachetest.Set, c.Kind == cachetest.Add && !there:
		return m.put(c.Key, c.Value)
	case c.Kind == cachetest.Add:
		return cachetest.Outcome{Status: cachetest.Exists}
	case !there:
		return cachetest.Outcome{Status: cachetest.NotFound}
	}
	switch c.Kind {
	case cachetest.CAS, cachetest.DeleteVersion:
		if item.version != c.Version {
			return cachetest.Outcome{Status: cachetest.Changed}
		}
	default:
	}
	switch c.Kind {
	case cachetest.Get:
		return cachetest.Outcome{Value: item.value, Version: item.version}
	case cachetest.Replace, cachetest.CAS:
		return m.put(c.Key, c.Value)
	case cachetest.Delete, cachetest.DeleteVersion:
		m.old[c.Key] = item
		delete(m.items, c.Key)
	case cachetest.Incr:
		return m.incr(c, item)
	default:
	}
	return cachetest.Outcome{}
}

func (m *mapCache) put(key, value string) cachetest.Outcome {
	m.version++
	m.old[key] = m.items[key]
	m.items[key] = mapItem{value, m.version}
	return cachetest.Outcome{Version: m.version}
}
