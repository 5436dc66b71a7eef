package load

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// Mapping says how the tables of a database, or the lines of an edge list, become items.
// Source.Mapping completes omitted fields.
type Mapping struct {
	Tables []Table `json:"tables,omitempty"`
	Edges  *Edges  `json:"edges,omitempty"`

	file  string
	lines map[string]int // line of each field in the file
}

// Table says how the rows of a table become items or links.
type Table struct {
	// Table is its name in the source. For tables of PostgreSQL that are not in the first
	// schema of the search path it is "schema.table".
	Table string `json:"table"`
	// Type is the type of the items; empty means the name of the table.
	Type string `json:"type,omitempty"`
	// Prefix is the beginning of their keys; nil means "table/".
	Prefix *string `json:"prefix,omitempty"`
	// Key is the columns of the key; empty means the primary key.
	Key []string `json:"key,omitempty"`
	// Attributes are columns that become attributes; nil means all but those that alone are the
	// key or a link.
	Attributes Attributes `json:"attributes,omitzero"`
	// Links are references to other tables; nil means the foreign keys.
	Links []Reference `json:"links,omitzero"`
	// Edge makes the rows links instead of items.
	Edge *Edge `json:"edge,omitempty"`
}

// Attribute is a column and the name of the attribute that it becomes.
type Attribute struct{ Column, Name string }

// Attributes is an object in JSON: "column": "name".
type Attributes []Attribute

// MarshalJSON writes the attributes in order.
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
	// To is the columns of that table that are referred to; empty means its key.
	To []string `json:"to,omitempty"`
	// Reverse is the list of links back; nil means "table.attribute", empty means none.
	Reverse *string `json:"reverse,omitempty"`
}

// Edge says that a row is a link from one item to another. Attribute and Reverse of From
// and To are ignored.
type Edge struct {
	From Reference `json:"from"`
	To   Reference `json:"to"`
	// List is the attribute of From that To is added to, Reverse the attribute of To that From is
	// added to; empty means none.
	List    string `json:"list"`
	Reverse string `json:"reverse,omitempty"`
}

// Edges says how an edge list becomes items: every end of an edge is an item.
type Edges struct {
	Type   string `json:"type"`
	Prefix string `json:"prefix"`
	// List is the attribute with the targets of an item's edges, Reverse that with the sources
	// of edges to it; empty means none.
	List    string `json:"list"`
	Reverse string `json:"reverse"`
	// Header says that the first line is a header, not an edge.
	Header bool `json:"header"`
}

// JSON returns the mapping as indented JSON.
func (m *Mapping) JSON() []byte {
	b, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		panic(fmt.Sprintf("load: a mapping cannot be written: %v", err)) // it consists of strings
	}
	return append(b, '\n')
}

// MappingError is an error in a mapping.
type MappingError struct {
	File  string // empty: not read from a file
	Line  int    // 0: unknown
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

// wrong returns an error about a field.
func (m *Mapping) wrong(field, format string, args ...any) error {
	return &MappingError{File: m.file, Line: m.line(field), Field: field, Text: fmt.Sprintf(format, args...)}
}

// line returns the line of a field, or of the nearest field around it.
func (m *Mapping) line(field string) int {
	for field != "" {
		if n, ok := m.lines[field]; ok {
			return n
		}
		field = field[:max(strings.LastIndexAny(field, ".["), 0)]
	}
	return m.lines[""]
}
