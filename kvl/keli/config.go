package keli

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/remora-kv/remora/fabric"
)

// Config describes a server. Zero values mean the defaults.
type Config struct {
	// Device is where the server listens, and Others are further devices for ListenOn. They
	// stay the caller's to close. Images are built in memory of the first, and copied into
	// that of the others.
	Device fabric.Device
	Others []fabric.Device
	// Cores is the number of goroutines that answer lookups; default 1. CPUs, if not empty,
	// names the CPU of each.
	Cores int
	CPUs  []int
	// BusyPoll has idle cores poll all the time; by default they sleep.
	BusyPoll bool
	// Lease is how long clients may use a generation after they have seen in the superblock that
	// it is current; default 10 s. Memory of old generations is kept for a quarter longer.
	Lease time.Duration
	// Generations bounds the number of images, including one that is being built; default 16.
	Generations int
	// FirstGeneration is the number of the first generation. By default it is random, so that
	// links of an earlier start of the server are not taken for links of this one.
	FirstGeneration uint64
	// MaxClients bounds the reader connections of each device, and the connections for lookups
	// of each core; default 1024.
	MaxClients int
	// Reload, if not nil, lets clients request another generation (Client.Reload). The server
	// calls it on a core, so it must not block; it makes another goroutine call Publish soon,
	// once for all requests that came before.
	Reload func()
	// Log receives generations, connects and refusals; default: none.
	Log *slog.Logger
}

const (
	defaultLease       = 10 * time.Second
	defaultGenerations = 16
	defaultMaxClients  = 1024
)

func (c *Config) complete() error {
	c.Cores = cmp.Or(c.Cores, 1)
	c.Lease = cmp.Or(c.Lease, defaultLease)
	c.Generations = cmp.Or(c.Generations, defaultGenerations)
	c.MaxClients = cmp.Or(c.MaxClients, defaultMaxClients)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	err := errors.Join(
		between("Generations", c.Generations, 2, 1<<20),
		between("MaxClients", c.MaxClients, 1, 1<<20),
	)
	if c.Device == nil {
		err = errors.Join(err, errors.New("no Device"))
	}
	if c.Lease < minLease || c.Lease > maxLease {
		err = errors.Join(err, fmt.Errorf("a Lease of %v, must be %v to %v", c.Lease, minLease, maxLease))
	}
	if err != nil {
		return fmt.Errorf("%w: server: %w", ErrInvalid, err)
	}
	return nil
}

// keep is how long the memory of an old generation is kept (E2).
func (c *Config) keep() time.Duration { return c.Lease + c.Lease/4 }
