package server

import (
	"errors"
	"fmt"
	"slices"

	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/store/cuckoo"
	"github.com/remora-kv/remora/store/hopscotch"
	"github.com/remora-kv/remora/store/lru8"
	"github.com/remora-kv/remora/store/mica"
	"github.com/remora-kv/remora/store/sharedlru"
	"github.com/remora-kv/remora/store/slots"
)

// maker makes the partitions of all cores of a server. Config.Memory is that of all
// together.
type maker func(cfg store.Config, cores int) ([]store.Partition, error)

// engines are the engines by name.
var engines = map[string]maker{
	"mica":       apart(func(c store.Config) (store.Partition, error) { return mica.New(c) }),
	"lru8":       apart(func(c store.Config) (store.Partition, error) { return lru8.New(c) }),
	"cuckoo":     apart(func(c store.Config) (store.Partition, error) { return cuckoo.New(c) }),
	"slots":      apart(func(c store.Config) (store.Partition, error) { return slots.New(c) }),
	"shared-lru": shared,

	"hopscotch":     apart(func(c store.Config) (store.Partition, error) { return hopscotch.New(c) }),
	"hopscotch-var": apart(func(c store.Config) (store.Partition, error) { return hopscotch.NewVar(c) }),
}

// Engines returns the names of the engines, the default first.
func Engines() []string {
	names := []string{DefaultEngine}
	for name := range engines {
		if name != DefaultEngine {
			names = append(names, name)
		}
	}
	slices.Sort(names[1:])
	return names
}

// apart makes partitions that have nothing in common, and an equal part of the memory
// each. If one cannot be made, there are none.
func apart(open func(store.Config) (store.Partition, error)) maker {
	return func(cfg store.Config, cores int) ([]store.Partition, error) {
		cfg.Memory /= int64(cores)
		var parts []store.Partition
		for i := range cores {
			part, err := open(cfg)
			if err != nil {
				return nil, errors.Join(fmt.Errorf("partition %d of %d: %w", i, cores, err), closeAll(parts))
			}
			parts = append(parts, part)
		}
		return parts, nil
	}
}

// shared makes handles of one table.
func shared(cfg store.Config, cores int) ([]store.Partition, error) {
	table, err := sharedlru.New(cfg, cores)
	if err != nil {
		return nil, err
	}
	parts := make([]store.Partition, cores)
	for i := range parts {
		parts[i] = table.Handle(i)
	}
	return parts, nil
}

func closeAll(parts []store.Partition) (err error) {
	for _, p := range parts {
		err = errors.Join(err, p.Close())
	}
	return err
}
