package load

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// Mapping says what becomes of the tables of a database, or of the lines of an edge list.
// What is left out is completed (Source.Mapping).
type Mapping struct {
	Tables []Table `json:"tables,omitempty"`
	Edges  *Edges  `json:"edges,omitempty"`

	file  string
	lines map[string]int // where the fields are in the file
}

// Table says what becomes of the rows of a table.
type Table struct {
	// Table is its name in the source. Tables of PostgreSQL that are not in the first
	// schema of the search path are "schema.table".
	Table string `json:"table"`
	// Type is that of the items; the name of the table if it is empty.
	Type string `json:"type,omitempty"`
	// Prefix begins their keys; nil means "table/".
	Prefix *string `json:"prefix,omitempty"`
	// Key are the columns of the key; none means the primary key.
	Key []string `json:"key,omitempty"`
	// Attributes are columns that become attributes; nil means all but a key of one column
	// and those that alone are a link.
	Attributes Attributes `json:"attributes,omitzero"`
	// Links are references to other tables; nil means the foreign keys.
	Links []Reference `json:"links,omitzero"`
	// Edge makes the rows links instead of items.
	Edge *Edge `json:"edge,omitempty"`
}

// Attribute is a column and the name of the attribute that it becomes.
type Attribute struct{ Column, Name string }

// Attributes are an object in JSON: "column": "name".
type Attributes []Attribute

// MarshalJSON writes them in their order.
func (a Attributes) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, at := range a {
		if i > 0 {
			b.WriteByte(',')
		}
		pair := []any{at.Column, at.Name}
		for j, v := range pair {
			text, err := json.Marshal(v)
			if err != nil {
				return nil, err
			}
			b.Write(text)
			if j == 0 {
				b.WriteByte(':')
			}
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// Reference says that columns hold the key of an item of a table.
type Reference struct {
	// Attribute is the name of the link; empty means the columns, joined by commas.
	Attribute string   `json:"attribute,omitempty"`
	Columns   []string `json:"columns,omitempty"`
	Table     string   `json:"table,omitempty"`
	// To are the columns of that table which have the same values; none means its key.
	To []string `json:"to,omitempty"`
	// Reverse is the list of links back; nil means "table.attribute", empty means none.
	Reverse *string `json:"reverse,omitempty"`
}

// Edge says that a row is a link from one item to another. Attribute and Reverse of From
// and To are not used.
type Edge struct {
	From Reference `json:"from"`
	To   Reference `json:"to"`
	// List is the list of links of From that To is added to, Reverse the list of links
	// back; empty means none.
	List    string `json:"list"`
	Reverse string `json:"reverse,omitempty"`
}

// Edges says what becomes of an edge list: every end of an edge is an item.
type Edges struct {
	Type   string `json:"type"`
	Prefix string `json:"prefix"`
	// List is the list of links of an item that begins edges, Reverse that of one where
	// edges end; empty means none.
	List    string `json:"list"`
	Reverse string `json:"reverse"`
	// Header says that the first line is not an edge.
	Header bool `json:"header"`
}

// JSON returns the mapping as a file for people.
func (m *Mapping) JSON() []byte {
	b, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		panic(fmt.Sprintf("load: a mapping cannot be written: %v", err)) // it is strings
	}
	return append(b, '\n')
}

// MappingError is a mistake in a mapping.
type MappingError struct {
	File  string // empty: it was not read from a file
	Line  int    // 0: not known
	Field string // such as tables[2].links[0].table
	Text  string
}

func (e *MappingError) Error() string {
	var b strings.Builder
	if e.File != "" {
		b.WriteString(e.File + ":")
	}
	if e.Line != 0 {
		fmt.Fprintf(&b, "%d:", e.Line)
	}
	if b.Len() == 0 {
		b.WriteString("mapping:")
	}
	if e.Field != "" {
		b.WriteString(" " + e.Field + ":")
	}
	return b.String() + " " + e.Text
}

// wrong makes the error of a field.
func (m *Mapping) wrong(field, format string, args ...any) error {
	return &MappingError{File: m.file, Line: m.line(field), Field: field, Text: fmt.Sprintf(format, args...)}
}

// line finds a field, or what it is a part of.
func (m *Mapping) line(field string) int {
	for field != "" {
		if n, ok := m.lines[field]; ok {
			return n
		}
		field = field[:max(strings.LastIndexAny(field, ".["), 0)]
	}
	return m.lines[""]
}
