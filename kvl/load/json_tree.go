package load

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
)

// node is a value of a JSON document with its line, which encoding/json does not report for
// unknown or invalid fields.
type node struct {
	line    int
	value   any // string, bool, json.Number, nil; []*node for an array, members for an object
	members []member
}

type member struct {
	name  string
	value *node
}

// treeParser parses a document token by token.
type treeParser struct {
	text []byte
	dec  *json.Decoder
	m    *Mapping // for errors
}

// parseTree parses text, which is one document.
func parseTree(m *Mapping, text []byte) (*node, error) {
	p := &treeParser{text: text, dec: json.NewDecoder(bytes.NewReader(text)), m: m}
	p.dec.UseNumber()
	n, err := p.node("")
	if err != nil {
		return nil, err
	}
	if _, err := p.dec.Token(); !errors.Is(err, io.EOF) {
		return nil, p.fault("", p.line(), "unexpected text after the mapping")
	}
	return n, nil
}

// line returns the line of the last token.
func (p *treeParser) line() int { return p.lineAt(p.dec.InputOffset()) }

func (p *treeParser) lineAt(offset int64) int {
	return 1 + bytes.Count(p.text[:min(int(offset), len(p.text))], []byte{'\n'})
}

func (p *treeParser) fault(field string, line int, text string) error {
	return &MappingError{File: p.m.file, Line: line, Field: field, Text: text}
}

func (p *treeParser) token(field string) (json.Token, error) {
	t, err := p.dec.Token()
	if err == nil {
		return t, nil
	}
	line, text := p.line(), err.Error()
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		line = p.lineAt(syntax.Offset)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		line, text = p.lineAt(int64(len(p.text))), "the mapping is truncated"
	}
	return nil, p.fault(field, line, text)
}

func (p *treeParser) node(field string) (*node, error) {
	t, err := p.token(field)
	if err != nil {
		return nil, err
	}
	n := &node{line: p.line(), value: t}
	p.m.lines[field] = n.line
	switch t {
	case json.Delim('{'):
		n.value = nil
		return n, p.object(field, n)
	case json.Delim('['):
		return n, p.array(field, n)
	}
	return n, nil
}

func (p *treeParser) object(field string, n *node) error {
	n.members = []member{}
	for p.dec.More() {
		t, err := p.token(field)
		if err != nil {
			return err
		}
		name, _ := t.(string) // the decoder accepts only strings as names
		for _, m := range n.members {
			if m.name == name {
				return p.fault(field, p.line(), strconv.Quote(name)+" occurs twice")
			}
		}
		v, err := p.node(join(field, name))
		if err != nil {
			return err
		}
		n.members = append(n.members, member{name, v})
	}
	_, err := p.token(field) // the end
	return err
}

func (p *treeParser) array(field string, n *node) error {
	list := []*node{}
	for p.dec.More() {
		v, err := p.node(field + "[" + strconv.Itoa(len(list)) + "]")
		if err != nil {
			return err
		}
		list = append(list, v)
	}
	n.value = list
	_, err := p.token(field) // the end
	return err
}

// join returns the path of a field inside another.
func join(field, name string) string {
	if field == "" {
		return name
	}
	return field + "." + name
}
