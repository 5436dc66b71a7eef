package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The list fits the code, so that it can be applied when somebody needs it.
func TestList(t *testing.T) {
	list, err := parse(listText)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) < 20 {
		t.Errorf("%d defects, want at least 20", len(list))
	}
	names := map[string]bool{}
	for _, m := range list {
		if names[m.name] {
			t.Errorf("%s is there twice", m.name)
		}
		names[m.name] = true
		for _, c := range m.changes {
			text, err := os.ReadFile(filepath.Join("../..", c.file))
			if err != nil {
				t.Errorf("%s: %v", m.name, err)
				continue
			}
			if _, err := c.apply(string(text)); err != nil {
				t.Errorf("%s: %v", m.name, err)
			}
		}
		for _, pkg := range m.tests {
			if tests, _ := filepath.Glob(filepath.Join("../..", pkg, "*_test.go")); len(tests) == 0 {
				t.Errorf("%s: %s has no tests", m.name, pkg)
			}
		}
	}
}

func TestListsThatAreWrong(t *testing.T) {
	for text, want := range map[string]string{
		"hello":                        "out of place",
		"== a\n# b\ntest: ./c\n":       "a change are needed",
		"== a\nfile: b\n<<<<\nx\n====": "are needed",
	} {
		if _, err := parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	c := change{file: "a.go", old: "x\n"}
	for _, text := range []string{"y\n", "x\nx\n"} {
		if _, err := c.apply(text); err == nil {
			t.Errorf("applied to %q", text)
		}
	}
}
