package load

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// lines is a file of JSON Lines: an item on each line.
//
//	{"key": "stu002", "type": "student",
//	 "values": {"name": "DEF"}, "base64": {"photo": "/9j/4AAQ"},
//	 "links": {"supervisor": "prof001"}, "lists": {"friends": ["stu001", "stu007"]}}
//
// Only key is required. A text becomes its own bytes; numbers, objects and lists become their
// JSON, without spaces; null becomes neither an attribute nor a link.
type lines struct{ path string }

// String implements Source.
func (f *lines) String() string { return f.path }

// Close implements Source.
func (f *lines) Close() error { return nil }

// Mapping implements Source.
func (f *lines) Mapping(context.Context, *Mapping) (whole *Mapping, notes []string, err error) {
	return nil, nil, fmt.Errorf("%w: %s: JSON Lines need no mapping: each line describes its item", ErrSource, f.path)
}

// line is the JSON of a line. Members keep their order in the file, so that the same file
// gives the same bytes (L5).
type line struct {
	Key    *string        `json:"key"`
	Type   string         `json:"type"`
	Values orderedMembers `json:"values"`
	Base64 orderedMembers `json:"base64"`
	Links  orderedMembers `json:"links"`
	Lists  orderedMembers `json:"lists"`
}

// orderedMembers are the members of an object.
type orderedMembers []rawMember

type rawMember struct {
	name  string
	value json.RawMessage
}

// UnmarshalJSON implements json.Unmarshaler.
func (o *orderedMembers) UnmarshalJSON(text []byte) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return errors.New("must be an object: {...}")
	}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return err
		}
		m := rawMember{}
		m.name, _ = t.(string) // the decoder accepts only strings as names
		if err := dec.Decode(&m.value); err != nil {
			return err
		}
		*o = append(*o, m)
	}
	return nil
}

func (f *lines) load(ctx context.Context, m *Mapping, l *loading) error {
	if m != nil {
		return fmt.Errorf("%w: JSON Lines need no mapping: each line describes its item", ErrSource)
	}
	return eachLine(f.path, l, func(text []byte) error {
		if err := l.counted(ctx); err != nil {
			return err
		}
		return l.line(text)
	})
}

// eachLine calls each for the lines of a file that are not empty, and adds the line number to
// errors (L6).
func eachLine(path string, l *loading, each func(text []byte) error) (err error) {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if info, err := file.Stat(); err == nil {
		l.now.Total = info.Size()
	}
	l.enter(path, "")
	in, number := bufio.NewReaderSize(file, 1<<20), 0
	var long []byte
	for {
		text, err := in.ReadSlice('\n')
		l.now.Done += int64(len(text))
		if errors.Is(err, bufio.ErrBufferFull) {
			long = append(long, text...)
			continue
		}
		if len(long) > 0 {
			long = append(long, text...)
			text, long = long, long[:0]
		}
		number++
		if text = bytes.TrimSpace(text); len(text) > 0 {
			if err := each(text); err != nil {
				return fmt.Errorf("line %d: %w", number, err)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// line adds the item of a line.
func (l *loading) line(text []byte) error {
	var in line
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&in); err != nil {
		return err
	}
	if dec.InputOffset() != int64(len(text)) {
		return errors.New("unexpected text after the item")
	}
	if in.Key == nil || *in.Key == "" {
		return errors.New(`the item has no "key"`)
	}
	typ, err := l.b.Name(in.Type)
	if err != nil {
		return err
	}
	l.b.Begin(typ, []byte(*in.Key))
	for _, part := range []struct {
		name    string
		members orderedMembers
		add     func(name uint16, value json.RawMessage) error
	}{
		{"values", in.Values, l.jsonValue},
		{"base64", in.Base64, l.jsonBlob},
		{"links", in.Links, l.jsonLink},
		{"lists", in.Lists, l.jsonList},
	} {
		if err := l.members(part.members, part.add); err != nil {
			return fmt.Errorf("%s.%w", part.name, err)
		}
	}
	return l.b.End()
}

// members adds attributes of one kind.
func (l *loading) members(members orderedMembers, add func(name uint16, value json.RawMessage) error) error {
	for _, m := range members {
		if string(m.value) == "null" {
			continue
		}
		name, err := l.b.Name(m.name)
		if err == nil {
			err = add(name, m.value)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	return nil
}

func (l *loading) jsonValue(name uint16, value json.RawMessage) error {
	if value[0] == '"' {
		var text string
		if err := json.Unmarshal(value, &text); err != nil {
			return err
		}
		l.b.Bytes(name, []byte(text))
		return nil
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, value); err != nil {
		return err
	}
	l.b.Bytes(name, compact.Bytes())
	return nil
}

func (l *loading) jsonBlob(name uint16, value json.RawMessage) error {
	var text string
	if err := json.Unmarshal(value, &text); err != nil {
		return err
	}
	blob, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return err
	}
	l.b.Bytes(name, blob)
	return nil
}

func (l *loading) jsonLink(name uint16, value json.RawMessage) error {
	var key string
	if err := json.Unmarshal(value, &key); err != nil {
		return errors.New("a link must be the key of an item, in quotes")
	}
	l.b.Link(name, []byte(key))
	l.count(&l.report.Links)
	return nil
}

func (l *loading) jsonList(name uint16, value json.RawMessage) error {
	var keys []string
	if err := json.Unmarshal(value, &keys); err != nil {
		return errors.New("a list must be keys of items, in quotes, between brackets")
	}
	l.b.List(name)
	for _, key := range keys {
		l.b.Add([]byte(key))
		l.count(&l.report.Links)
	}
	return nil
}
