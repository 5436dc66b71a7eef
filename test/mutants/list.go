package main

import (
	"fmt"
	"strings"
)

// mutant is a defect made on purpose.
type mutant struct {
	name    string
	about   string
	tests   []string // packages whose tests notice it
	changes []change
}

// change replaces text that occurs once in a file.
type change struct {
	file     string
	old, new string
}

// parse reads the list.
func parse(text string) ([]mutant, error) {
	var list []mutant
	var file string
	var part *strings.Builder // of a change that is being read
	var parts [2]strings.Builder
	for n, line := range strings.Split(text, "\n") {
		m := &mutant{}
		if len(list) > 0 {
			m = &list[len(list)-1]
		}
		switch {
		case line == "<<<<":
			parts = [2]strings.Builder{}
			part = &parts[0]
		case line == "====" && part != nil:
			part = &parts[1]
		case line == ">>>>" && part == &parts[1]:
			m.changes = append(m.changes, change{file, parts[0].String(), parts[1].String()})
			part = nil
		case part != nil:
			part.WriteString(line + "\n")
		case strings.HasPrefix(line, "== "):
			list = append(list, mutant{name: line[3:]})
		case strings.HasPrefix(line, "# "):
			m.about += line[2:] + " "
		case strings.HasPrefix(line, "file: "):
			file = line[6:]
		case strings.HasPrefix(line, "test: "):
			m.tests = strings.Fields(line[6:])
		case line != "":
			return nil, fmt.Errorf("line %d of the list: %q is out of place", n+1, line)
		}
	}
	for _, m := range list {
		if m.about == "" || len(m.tests) == 0 || len(m.changes) == 0 {
			return nil, fmt.Errorf("%s: what it is, a test and a change are needed", m.name)
		}
	}
	return list, nil
}

// apply makes the change in the text of its file.
func (c change) apply(text string) (string, error) {
	if n := strings.Count(text, c.old); n != 1 {
		return "", fmt.Errorf("%s has the old text %d times, not once:\n%s", c.file, n, c.old)
	}
	return strings.Replace(text, c.old, c.new, 1), nil
}
