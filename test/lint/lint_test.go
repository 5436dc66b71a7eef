package lint

import (
	"fmt"
	"path"
	"testing"
)

// rule is one rule of the repository.
type rule struct {
	name    string
	instead string // what to do instead, the end of every message
	check   func(m *module, report reporter)
	bad     []sample // each must be reported
	good    []sample // none may be reported
}

// sample is a small file to try a rule on.
type sample struct{ name, content string }

// reporter takes one breach: where, and what it is.
type reporter func(where string, format string, args ...any)

// eachFile makes the check of a module from the check of one file.
func eachFile(check func(f *source, report func(line int, format string, args ...any))) func(*module, reporter) {
	return func(m *module, report reporter) {
		for _, f := range m.files {
			check(f, func(line int, format string, args ...any) {
				report(fmt.Sprintf("%s:%d", f.name, line), format, args...)
			})
		}
	}
}

// breaches runs a rule and returns its messages.
func (r rule) breaches(m *module) []string {
	var found []string
	r.check(m, func(where, format string, args ...any) {
		found = append(found, fmt.Sprintf("%s: %s: %s", where, fmt.Sprintf(format, args...), r.instead))
	})
	return found
}

func TestRepository(t *testing.T) {
	m, err := load()
	if err != nil {
		t.Fatal(err)
	}
	if len(m.files) == 0 {
		t.Fatal("no Go files found")
	}
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			for _, b := range r.breaches(m) {
				t.Error(b)
			}
		})
	}
}

// TestRules tries each rule on its samples.
func TestRules(t *testing.T) {
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			if len(r.bad) == 0 || len(r.good) == 0 || r.instead == "" {
				t.Fatal("a rule needs samples of both kinds and says what to do instead")
			}
			for _, s := range r.bad {
				if len(r.breaches(s.module(t))) == 0 {
					t.Errorf("not reported: %s\n%s", s.name, s.content)
				}
			}
			for _, s := range r.good {
				for _, b := range r.breaches(s.module(t)) {
					t.Errorf("reported: %s\n%s\n%s", s.name, s.content, b)
				}
			}
		})
	}
}

// module makes a module of one file.
func (s sample) module(t *testing.T) *module {
	t.Helper()
	m := &module{path: "example.com/m", texts: []text{{s.name, []byte(s.content)}}}
	if path.Ext(s.name) == ".go" {
		if err := m.addGo(s.name, []byte(s.content)); err != nil {
			t.Fatal(err)
		}
	}
	return m
}
