package kvl

import (
	"errors"
	"fmt"
)

const (
	// DefaultAreaSize is the default of Config.AreaSize.
	DefaultAreaSize = 64 << 20
	// DefaultInline is the default of Config.Inline.
	DefaultInline = 16

	minAreaSize = 4 << 10
	maxAreaSize = 1 << 35
	maxInline   = 1 << 20
)

// Config describes a Builder. The zero Config is valid.
type Config struct {
	// Generation is the number of the image.
	Generation uint64
	// Memory allocates the areas of the image and the scratch memory of the Builder. If it
	// is nil, the Builder uses a Memory of its own, in this process.
	Memory *Memory
	// AreaSize is the length of an area, rounded up to a multiple of 8; 0 means DefaultAreaSize.
	// The last area is only as long as needed. An item that is longer than AreaSize gets an area
	// of its own.
	AreaSize int
	// Inline is how many links of a list may be in the item itself; 0 means DefaultInline, and
	// a negative number none.
	Inline int
	// Dangling says what Seal does with links to keys without an item.
	Dangling Dangling
}

// Dangling says what a Builder does with links to keys without an item (K3). It always counts and
// reports them.
type Dangling uint8

const (
	// Fail makes Seal fail with ErrDangling.
	Fail Dangling = iota
	// Drop leaves out the attribute if it is a single link, or the link if it is in a list.
	Drop
	// Null makes a single link lead nowhere, and leaves out a link in a list.
	Null
)

var danglingNames = [...]string{Fail: "fail", Drop: "drop", Null: "null"}

// String returns "fail", "drop" or "null".
func (d Dangling) String() string {
	if int(d) < len(danglingNames) {
		return danglingNames[d]
	}
	return fmt.Sprintf("Dangling(%d)", uint8(d))
}

// ParseDangling parses the result of String.
func ParseDangling(s string) (Dangling, error) {
	for d, name := range danglingNames {
		if s == name {
			return Dangling(d), nil
		}
	}
	return Fail, fmt.Errorf("kvl: dangling %q: use fail, drop or null", s)
}

// complete fills in defaults, and reports all faults.
func (c *Config) complete() error {
	var errs []error
	if c.Memory == nil {
		c.Memory = NewMemory(nil)
	}
	if c.AreaSize == 0 {
		c.AreaSize = DefaultAreaSize
	}
	if c.AreaSize < minAreaSize || c.AreaSize > maxAreaSize {
		errs = append(errs, fmt.Errorf("AreaSize is %d, must be in [%d, %d]", c.AreaSize, minAreaSize, maxAreaSize))
	}
	c.AreaSize = pad8(c.AreaSize)
	switch {
	case c.Inline == 0:
		c.Inline = DefaultInline
	case c.Inline < 0:
		c.Inline = 0
	case c.Inline > maxInline:
		errs = append(errs, fmt.Errorf("field Inline is %d, must be at most %d", c.Inline, maxInline))
	}
	if c.Dangling > Null {
		errs = append(errs, fmt.Errorf("field Dangling is %d, must be Fail, Drop or Null", uint8(c.Dangling)))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("kvl: config: %w", err)
	}
	return nil
}
