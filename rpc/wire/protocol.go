package wire

import (
	"encoding/binary"
	"fmt"
)

// Protocol is what all private data of a path begin with: four bytes that say which path
// it is, and in which version. Ends of different versions refuse each other.
//
//	| magic (u16) | version (u8) | flags of the path, or 0 |
type Protocol struct {
	Name    string // for errors
	Magic   uint16
	Version uint8
	Err     error // what errors of Check wrap, if it is not nil
}

// Append appends the first four bytes.
func (p *Protocol) Append(b []byte) []byte {
	return append(binary.LittleEndian.AppendUint16(b, p.Magic), p.Version, 0)
}

// Speaks reports whether private data are of this path, in any version.
func (p *Protocol) Speaks(b []byte) bool {
	return len(b) >= 3 && binary.LittleEndian.Uint16(b) == p.Magic
}

// Check returns why private data of at least size bytes cannot be read, nil if they can.
func (p *Protocol) Check(b []byte, size int) error {
	var err error
	switch {
	case !p.Speaks(b):
		err = fmt.Errorf("%s: the other end does not speak this protocol", p.Name)
	case b[2] != p.Version:
		err = fmt.Errorf("%s: the other end speaks version %d of the protocol, this one %d: use the same release at both ends",
			p.Name, b[2], p.Version)
	case len(b) < size:
		err = fmt.Errorf("%s: greeting of %d bytes instead of %d", p.Name, len(b), size)
	}
	if err != nil && p.Err != nil {
		return fmt.Errorf("%w: %w", err, p.Err)
	}
	return err
}
