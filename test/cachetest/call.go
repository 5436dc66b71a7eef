package cachetest

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// Kind is an operation of the cache.
type Kind uint8

// The operations.
const (
	Get Kind = iota
	Set
	Add
	Replace
	CAS
	Delete
	DeleteVersion
	Incr
	Touch

	numKinds
)

var kindNames = [numKinds]string{"get", "set", "add", "replace", "cas", "delete", "delete-version", "incr", "touch"}

// String returns the name of the operation.
func (k Kind) String() string { return kindNames[k] }

// Call is an operation with its arguments.
type Call struct {
	Kind    Kind          `json:"kind"`
	Key     string        `json:"key"`
	Value   string        `json:"value,omitempty"`
	Flags   uint32        `json:"flags,omitempty"`
	TTL     time.Duration `json:"ttl,omitempty"`
	Version uint64        `json:"version,omitempty"` // of CAS and DeleteVersion
	Delta   int64         `json:"delta,omitempty"`   // of Incr
}

// String writes the call as in a program.
func (c Call) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v(%s", c.Kind, c.Key)
	switch c.Kind {
	case Set, Add, Replace, CAS:
		fmt.Fprintf(&b, ", %s", shorten(c.Value))
	case Incr:
		fmt.Fprintf(&b, ", %d", c.Delta)
	case Get, Delete, DeleteVersion, Touch:
	default:
	}
	if c.Version != 0 {
		fmt.Fprintf(&b, ", version %d", c.Version)
	}
	if c.Flags != 0 {
		fmt.Fprintf(&b, ", flags %d", c.Flags)
	}
	if c.TTL != 0 {
		fmt.Fprintf(&b, ", ttl %v", c.TTL)
	}
	return b.String() + ")"
}

// shorten writes a value so that a line stays readable.
func shorten(value string) string {
	if len(value) > 24 {
		return fmt.Sprintf("%q... (%d bytes)", value[:16], len(value))
	}
	return fmt.Sprintf("%q", value)
}

// Status is how an operation ended.
type Status uint8

// The statuses.
const (
	OK Status = iota
	NotFound
	Exists
	Changed
	NotNumber
	TooLarge
	OutOfMemory
	Unavailable // it has not happened
	Unknown     // it may have happened
	Failed      // anything else: no cache should answer that

	numStatuses
)

var statusNames = [numStatuses]string{
	"ok", "not found", "exists", "changed", "not a number", "too large", "out of memory", "unavailable", "unknown", "failed",
}

// String returns the status in words.
func (s Status) String() string { return statusNames[s] }

// Outcome is how an operation ended, with what it returned.
type Outcome struct {
	Status  Status        `json:"status"`
	Value   string        `json:"value,omitempty"`
	Version uint64        `json:"version,omitempty"`
	Flags   uint32        `json:"flags,omitempty"`
	TTL     time.Duration `json:"ttl,omitempty"`
	Sum     int64         `json:"sum,omitempty"`
	Text    string        `json:"text,omitempty"`   // of the error
	Untold  bool          `json:"untold,omitempty"` // the client is not told versions
}

// String writes the outcome in words.
func (o Outcome) String() string {
	var b strings.Builder
	b.WriteString(o.Status.String())
	if o.Value != "" {
		fmt.Fprintf(&b, " %s", shorten(o.Value))
	}
	if o.Sum != 0 {
		fmt.Fprintf(&b, " sum %d", o.Sum)
	}
	if o.Version != 0 {
		fmt.Fprintf(&b, " version %d", o.Version)
	}
	if o.Flags != 0 {
		fmt.Fprintf(&b, " flags %d", o.Flags)
	}
	if o.TTL != 0 {
		fmt.Fprintf(&b, " ttl %v", o.TTL)
	}
	if o.Text != "" && o.Status >= Unavailable {
		fmt.Fprintf(&b, " (%s)", o.Text)
	}
	return b.String()
}

// Cache is a client of a cache, for one goroutine.
type Cache interface {
	Do(ctx context.Context, c *Call) Outcome
}
