package kvl

import (
	"errors"
	"fmt"
)

const (
	// DefaultAreaSize is the length of areas that a Config does not say.
	DefaultAreaSize = 64 << 20
	// DefaultInline is how many links of a list are in the item itself if a Config does
	// not say otherwise.
	DefaultInline = 16

	minAreaSize = 4 << 10
	maxAreaSize = 1 << 35
	maxInline   = 1 << 20
)

// Config is what a Builder has to know.
type Config struct {
	// Generation is the number of the image.
	Generation uint64
	// Memory allocates the areas of the image and what the Builder needs beside them. If it
	// is nil, the Builder uses a Memory of its own, in this process.
	Memory *Memory
	// AreaSize is the length of an area, DefaultAreaSize if 0; the last one is as long as
	// it has to be. It is rounded up to a multiple of 8. An item that is longer has an
	// area of its own.
	AreaSize int
	// Inline is how many links of a list are in the item itself at most, DefaultInline if
	// 0, none if negative.
	Inline int
	// Dangling says what becomes of links to keys that are not there.
	Dangling Dangling
}

// Dangling is what a Builder does with links to keys that are not there (K3). All are
// counted and told.
type Dangling uint8

const (
	// Fail makes Seal fail with ErrDangling.
	Fail Dangling = iota
	// Drop leaves out the attribute, if it is a link. A list goes on without it.
	Drop
	// Null has a link lead nowhere. A list goes on without it.
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

// ParseDangling reads what String has written.
func ParseDangling(s string) (Dangling, error) {
	for d, name := range danglingNames {
		if s == name {
			return Dangling(d), nil
		}
	}
	return Fail, fmt.Errorf("kvl: %q is no way to deal with dangling links: use fail, drop or null", s)
}

// complete fills in what was not said, and says all that is wrong.
func (c *Config) complete() error {
	var errs []error
	if c.Memory == nil {
		c.Memory = NewMemory(nil)
	}
	if c.AreaSize == 0 {
		c.AreaSize = DefaultAreaSize
	}
	if c.AreaSize < minAreaSize || c.AreaSize > maxAreaSize {
		errs = append(errs, fmt.Errorf("an AreaSize of %d, must be in [%d, %d]", c.AreaSize, minAreaSize, maxAreaSize))
	}
	c.AreaSize = pad8(c.AreaSize)
	switch {
	case c.Inline == 0:
		c.Inline = DefaultInline
	case c.Inline < 0:
		c.Inline = 0
	case c.Inline > maxInline:
		errs = append(errs, fmt.Errorf("an Inline of %d, at most %d is possible", c.Inline, maxInline))
	}
	if c.Dangling > Null {
		errs = append(errs, fmt.Errorf("a Dangling of %d, must be Fail, Drop or Null", uint8(c.Dangling)))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("kvl: config: %w", err)
	}
	return nil
}
