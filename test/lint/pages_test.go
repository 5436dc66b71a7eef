package lint

import (
	"go/ast"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	pageLink  = regexp.MustCompile(`\]\(([^)#:]+)(#[^):]*)?\)`)
	testName  = regexp.MustCompile(`\b(Test|Fuzz)[A-Z]\w+`)
	firstWord = regexp.MustCompile(`[a-z][a-z0-9]*`)
)

// TestPagesNameWhatExists checks that the links of all pages lead to files of this repository, and
// that the tests that they name exist. Results are of their date, and name what there was.
func TestPagesNameWhatExists(t *testing.T) {
	m, err := load()
	if err != nil {
		t.Fatal(err)
	}
	root, err := findRoot()
	if err != nil {
		t.Fatal(err)
	}
	functions := make(map[string]bool)
	for _, f := range m.files {
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok {
				functions[fn.Name.Name] = true
			}
		}
	}
	for _, page := range m.texts {
		if path.Ext(page.name) != ".md" {
			continue
		}
		text := string(page.content)
		for _, link := range pageLink.FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join(root, path.Dir(page.name), link[1])); err != nil {
				t.Errorf("%s links to %s, which does not exist", page.name, link[1])
			}
		}
		if strings.HasPrefix(page.name, "docs/results/") {
			continue
		}
		for _, name := range testName.FindAllString(text, -1) {
			if !functions[name] {
				t.Errorf("%s names %s, which does not exist", page.name, name)
			}
		}
	}
}

// TestMapIsComplete checks that ARCHITECTURE.md and test/README.md name every package, by the last
// part of its path.
func TestMapIsComplete(t *testing.T) {
	m, err := load()
	if err != nil {
		t.Fatal(err)
	}
	maps := make(map[string][]string)
	for _, page := range m.texts {
		if page.name == "ARCHITECTURE.md" || page.name == "test/README.md" {
			maps[page.name] = firstWord.FindAllString(string(page.content), -1)
		}
	}
	for _, f := range m.files {
		dir, page := f.dir(), "ARCHITECTURE.md"
		top, below, _ := strings.Cut(dir, "/")
		switch {
		case dir == "." || top == "examples" || top == "tools" || strings.Contains(below, "/cmd/") || f.isTestFile():
			continue
		case top == "test":
			page = "test/README.md"
		}
		if !slices.Contains(maps[page], path.Base(dir)) {
			t.Errorf("%s does not name package %s", page, dir)
		}
	}
}
