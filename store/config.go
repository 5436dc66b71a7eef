package store

import (
	"errors"
	"fmt"
)

// Mode says what happens when memory is full.
type Mode uint8

const (
	// Cache evicts older items.
	Cache Mode = iota
	// Store refuses new items with ErrFull.
	Store
)

// Eviction says which items a Cache loses first.
type Eviction uint8

const (
	// SecondChance spares an item that was used since it was written or spared,
	// once.
	SecondChance Eviction = iota
	// FIFO takes the oldest.
	FIFO
)

// DefaultMaxValue is the length of the longest value if Config does not say.
const DefaultMaxValue = 1 << 20

// MinMemory is the smallest memory of a partition.
const MinMemory = 64 << 10

// Config is what every engine is made from.
type Config struct {
	// Arena allocates the memory. If it is nil, the partition uses an Arena of its own,
	// in this process.
	Arena *Arena
	// Memory bounds all that the partition uses (S4), at least MinMemory.
	Memory int64
	// MaxValue is the length of the longest value; 0 is DefaultMaxValue.
	MaxValue int
	// Seed keys the hashes, for engines that hash keys again.
	Seed Seed
	// FirstVersion is smaller than all versions that the partition gives. A
	// server that comes back after a restart takes another one, so that the
	// versions which clients remember do not come back with it.
	FirstVersion uint64

	Mode     Mode
	Eviction Eviction
}

// Complete returns the configuration with its defaults filled in, or all that
// is wrong with it.
func (c Config) Complete() (Config, error) {
	var faults []error
	if c.Arena == nil {
		c.Arena = NewArena(nil)
	}
	if c.MaxValue == 0 {
		c.MaxValue = DefaultMaxValue
	}
	if c.Memory < MinMemory {
		faults = append(faults, fmt.Errorf("memory of %d bytes: a partition needs at least %d", c.Memory, MinMemory))
	}
	if c.MaxValue < 0 || c.MaxValue > MaxValueLimit {
		faults = append(faults, fmt.Errorf("values up to %d bytes: the limit is between 1 and %d", c.MaxValue, MaxValueLimit))
	}
	if c.FirstVersion > MaxVersion/2 {
		faults = append(faults, fmt.Errorf("first version %d: at most %d, so that there is room to count", c.FirstVersion, MaxVersion/2))
	}
	if c.Mode > Store {
		faults = append(faults, fmt.Errorf("unknown mode %d", c.Mode))
	}
	if c.Eviction > FIFO {
		faults = append(faults, fmt.Errorf("unknown eviction %d", c.Eviction))
	}
	if len(faults) > 0 {
		return c, fmt.Errorf("store: %w", errors.Join(faults...))
	}
	return c, nil
}
