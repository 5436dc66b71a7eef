package kvl

import (
	"encoding/binary"
	"fmt"
)

const (
	schemaMagic  = "KVLS"
	schemaHead   = 8
	schemaFormat = 1

	// MaxName is the length of the longest name of a type or an attribute.
	MaxName = 255
	// MaxNames is the largest number of names.
	MaxNames = 1<<16 - 1
)

// Schema maps the numbers of types and attributes to their names, and names to numbers. It never
// changes, and any number of goroutines may use it.
type Schema struct {
	names   []string // by number; 0 is ""
	numbers map[string]uint16
}

func newSchema() *Schema {
	return &Schema{names: []string{""}, numbers: map[string]uint16{"": 0}}
}

// add returns the number of a name, a new one if it has none.
func (s *Schema) add(name string) (uint16, error) {
	if n, ok := s.numbers[name]; ok {
		return n, nil
	}
	switch {
	case len(name) > MaxName:
		return 0, fmt.Errorf("kvl: the name that begins with %.40q has %d bytes, the limit is %d", name, len(name), MaxName)
	case len(s.names) > MaxNames:
		return 0, fmt.Errorf("kvl: too many names: cannot add %q to %d others", name, MaxNames)
	}
	n := uint16(len(s.names))
	s.names, s.numbers[name] = append(s.names, name), n
	return n, nil
}

// clone returns a schema that does not change when this one does.
func (s *Schema) clone() *Schema {
	c := newSchema()
	for n, name := range s.names {
		if n > 0 {
			c.names, c.numbers[name] = append(c.names, name), uint16(n)
		}
	}
	return c
}

// Len returns the number of names, including "" with number 0: names have the numbers 0 to
// Len-1.
func (s *Schema) Len() int { return len(s.names) }

// Number returns the number of a name, and whether the schema has it.
func (s *Schema) Number(name string) (uint16, bool) {
	n, ok := s.numbers[name]
	return n, ok
}

// Name returns the name of a number, and "" for one that has none.
func (s *Schema) Name(n uint16) string {
	if int(n) >= len(s.names) {
		return ""
	}
	return s.names[n]
}

// Bytes returns the encoded schema (see the package doc).
func (s *Schema) Bytes() []byte {
	b := append(make([]byte, 0, schemaHead+16*len(s.names)), schemaMagic...)
	b = append(b, schemaFormat, 0)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(s.names)-1))
	for _, name := range s.names[1:] {
		b = append(append(b, byte(len(name))), name...)
	}
	return b
}

// ParseSchema decodes the result of Bytes. Anything else is ErrCorrupt.
func ParseSchema(b []byte) (*Schema, error) {
	if len(b) < schemaHead || string(b[:4]) != schemaMagic || b[4] != schemaFormat || b[5] != 0 {
		return nil, fmt.Errorf("%w: malformed schema (%d bytes, want format %d)", ErrCorrupt, len(b), schemaFormat)
	}
	s, count, rest := newSchema(), int(binary.LittleEndian.Uint16(b[6:])), b[schemaHead:]
	for n := 1; n <= count; n++ {
		if len(rest) == 0 || len(rest) <= int(rest[0]) {
			return nil, fmt.Errorf("%w: truncated schema: it ends in name %[3]d of %[2]d", ErrCorrupt, count, n)
		}
		name := string(rest[1 : 1+int(rest[0])])
		if got, err := s.add(name); err != nil || int(got) != n {
			return nil, fmt.Errorf("%w: name %d of a schema, %q, occurs twice", ErrCorrupt, n, name)
		}
		rest = rest[1+len(name):]
	}
	if len(rest) != 0 {
		return nil, fmt.Errorf("%w: %d extra bytes behind a schema", ErrCorrupt, len(rest))
	}
	return s, nil
}
