package server

import (
	"slices"

	"github.com/remora-kv/remora/store"
	"github.com/remora-kv/remora/store/cuckoo"
	"github.com/remora-kv/remora/store/lru8"
	"github.com/remora-kv/remora/store/mica"
)

// engines are the engines by name.
var engines = map[string]func(store.Config) (store.Partition, error){
	"mica": func(c store.Config) (store.Partition, error) { return mica.New(c) },
	"lru8": func(c store.Config) (store.Partition, error) { return lru8.New(c) },

	"cuckoo": func(c store.Config) (store.Partition, error) { return cuckoo.New(c) },
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
