package server

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/store"
)

// Config describes a server. Zero values mean the defaults.
type Config struct {
	// Listen are the addresses, as URLs: shm:/run/remora.sock, tcp://:7700,
	// rdma://:7700, loop:name; and text://:7701 for lines over plain TCP (package text).
	Listen []string
	// Cores is the number of cores and partitions; default 1. CPUs, when not
	// empty, names the CPU of each.
	Cores int
	CPUs  []int
	// Memory bounds the items and indexes of all partitions together, in bytes;
	// default 1 GiB. Clients take memory beside it, see MaxClients.
	Memory int64
	// Engine is the name of the engine (Engines); default mica.
	Engine string
	// Mode says whether a full partition evicts or refuses; Eviction what it
	// evicts.
	Mode     store.Mode
	Eviction store.Eviction
	// MaxKey is the longest key; default 1 KiB, at most 65,535 bytes. It bounds what keys made to
	// collide can cost: a lookup compares up to 32 keys of the same tag (package mica, M6).
	MaxKey int
	// MaxValue is the longest value, at most 64 MiB and a fourth of a core's part of Memory;
	// default 1 MiB, or that fourth if it is less.
	MaxValue int
	// NoPrefetch turns prefetching off, in batches of rfp and in the pipeline of herd, to
	// measure its gain.
	NoPrefetch bool
	// Links lets clients read items directly from memory, without a core, once they have
	// a link: the memory of the partitions is registered with the first device. Engines
	// that are made to be read by clients do so in any case.
	Links bool
	// BusyPoll has idle cores poll all the time; by default they sleep.
	BusyPoll bool
	// MaxClients is how many clients a core takes; default 1024. Each takes
	// about 150 KiB, up to 2 MiB once it has got large values, and up to MaxValue more while it
	// sends one or is slow to take one.
	MaxClients int
	// AllowUIDs are users, and AllowGIDs groups whose members may connect over shm, beside
	// the user of the server and root. SocketMode is the mode of the file of a socket, which must
	// let them in as well; 0 does.
	AllowUIDs, AllowGIDs []int
	SocketMode           uint32
	// Providers opens the devices; nil makes a set of its own.
	Providers provider.Opener
	// Log receives start, end and disconnects; default: none.
	Log *slog.Logger
	// Version is the version of the program, for statistics.
	Version string

	// wrap, when not nil, stands between the server and each of its devices:
	// tests have bad networks and clocks of their own.
	wrap func(fabric.Device) fabric.Device
}

// Defaults of Config.
const (
	DefaultMemory     = 1 << 30
	DefaultEngine     = "mica"
	DefaultMaxKey     = 1 << 10
	DefaultMaxClients = 1024
)

// Complete returns the configuration with its defaults filled in, or all that is
// wrong with it.
func (c Config) Complete() (Config, error) {
	c.Cores = cmp.Or(c.Cores, 1)
	c.Memory = cmp.Or(c.Memory, DefaultMemory)
	c.Engine = cmp.Or(c.Engine, DefaultEngine)
	c.MaxKey = cmp.Or(c.MaxKey, DefaultMaxKey)
	c.MaxValue = cmp.Or(c.MaxValue, c.usualMaxValue())
	c.MaxClients = cmp.Or(c.MaxClients, DefaultMaxClients)
	if c.Providers == nil {
		c.Providers = provider.New()
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if len(c.Listen) == 0 {
		fault("no address to listen on: give one such as shm:/run/remora.sock or tcp://:7700")
	}
	for _, url := range c.Listen {
		if err := checkListen(url); err != nil {
			faults = append(faults, err)
		}
	}
	if c.Cores < 1 || c.Cores > maxCores {
		fault("%d cores: between 1 and %d", c.Cores, maxCores)
	}
	if n := len(c.CPUs); n != 0 && n != c.Cores {
		fault("%d CPUs for %d cores: name one for each, or none", n, c.Cores)
	}
	if _, ok := engines[c.Engine]; !ok {
		fault("engine %q is unknown: use %s", c.Engine, strings.Join(Engines(), " or "))
	}
	if c.MaxKey < 1 || c.MaxKey > store.MaxKey {
		fault("keys up to %d bytes: between 1 and %d", c.MaxKey, store.MaxKey)
	}
	if c.MaxValue < 1 || c.MaxValue > store.MaxValueLimit {
		fault("values up to %d bytes: between 1 and %d", c.MaxValue, store.MaxValueLimit)
	}
	if c.MaxClients < 1 || c.MaxClients > maxClients {
		fault("%d clients per core: between 1 and %d", c.MaxClients, maxClients)
	}
	if c.Cores >= 1 && c.Memory/int64(c.Cores) < store.MinMemory {
		fault("%d bytes of memory for %d cores: each needs at least %d", c.Memory, c.Cores, store.MinMemory)
	} else if need := int64(valuesInPartition * c.MaxValue); c.Cores >= 1 && c.Memory/int64(c.Cores) < need {
		fault("%d bytes of memory for %d cores are %d for each, too little for values up to %d: set the memory to at least %d, "+
			"or the longest value to at most %d, or use fewer cores",
			c.Memory, c.Cores, c.Memory/int64(c.Cores), c.MaxValue, need*int64(c.Cores), c.Memory/int64(c.Cores)/valuesInPartition)
	}
	if len(faults) != 0 {
		return c, fmt.Errorf("server: %w", errors.Join(faults...))
	}
	if cpus := runtime.NumCPU(); c.Cores > cpus {
		c.Log.Warn("more cores than CPUs: they take turns, and latency suffers", "cores", c.Cores, "cpus", cpus)
	}
	return c, nil
}

// valuesInPartition is how many of the longest values a partition must have memory for. With fewer,
// some engines cannot store one, and all of them evict everything for it.
const valuesInPartition = 4

// usualMaxValue returns the default of MaxValue.
func (c *Config) usualMaxValue() int {
	return int(min(store.DefaultMaxValue, max(c.Memory/int64(max(c.Cores, 1))/valuesInPartition, 1)))
}

const (
	maxCores   = 1024
	maxClients = 1 << 20
)
