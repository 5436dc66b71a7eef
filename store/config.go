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

// Eviction says which items a Cache evicts first.
type Eviction uint8

const (
	// SecondChance evicts the oldest item that was not used since it was written or last
	// spared.
	SecondChance Eviction = iota
	// FIFO evicts the oldest item.
	FIFO
)

// DefaultMaxValue is Config.MaxValue if it is 0.
const DefaultMaxValue = 1 << 20

// MinMemory is the smallest memory of a partition.
const MinMemory = 64 << 10

// Config configures a partition of any engine.
type Config struct {
	// Arena allocates the memory. If it is nil, the partition uses an Arena of its own,
	// in this process.
	Arena *Arena
	// Memory is the number of bytes that the partition may use in all (S4), at least MinMemory.
	Memory int64
	// MaxValue is the length of the longest value; 0 is DefaultMaxValue.
	MaxValue int
	// Seed keys the hashes, for engines that hash keys again.
	Seed Seed
	// FirstVersion is smaller than every version that the partition assigns. A
	// restarted server chooses another one, so that no version that a client
	// remembers is assigned again.
	FirstVersion uint64

	Mode     Mode
	Eviction Eviction
}

// Complete returns the configuration with its defaults filled in, or an error
// that lists all its faults.
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
		faults = append(faults, fmt.Errorf("values up to %d bytes: MaxValue must be between 1 and %d, or 0 for the default", c.MaxValue, MaxValueLimit))
	}
	if c.FirstVersion > MaxVersion/2 {
		faults = append(faults, fmt.Errorf("first version %d: must be at most %d, so that enough larger versions remain", c.FirstVersion, MaxVersion/2))
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
