package lint

import (
	"bufio"
	"bytes"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// textLimit is the size from which a file is taken for data and not for text.
const textLimit = 1 << 20

// module is what the rules look at: the Go files of one module, and all text
// files below its root.
type module struct {
	path  string // import path of the module
	files []*source
	texts []text
}

// source is one Go file.
type source struct {
	name  string // slash-separated, relative to the root
	lines []string
	fset  *token.FileSet
	ast   *ast.File
}

// text is any file that looks like text.
type text struct {
	name    string
	content []byte
}

func (m *module) addGo(name string, content []byte) error {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, content, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	m.files = append(m.files, &source{name, strings.Split(string(content), "\n"), fset, f})
	return nil
}

func (f *source) dir() string      { return path.Dir(f.name) }
func (f *source) isTestFile() bool { return strings.HasSuffix(f.name, "_test.go") }

// isTest says whether the file is test code: a test, or part of a suite.
func (f *source) isTest() bool { return f.isTestFile() || strings.HasSuffix(f.dir(), "test") }

func (f *source) line(pos token.Pos) int { return f.fset.Position(pos).Line }

// under says whether the file is in one of the directories or below it.
func (f *source) under(dirs ...string) bool {
	for _, d := range dirs {
		if within(f.dir(), d) {
			return true
		}
	}
	return false
}

// within says whether the slash-separated p is root or below it.
func within(p, root string) bool { return p == root || strings.HasPrefix(p, root+"/") }

// allowed says whether the line of pos carries "//lint:allow name reason".
func (f *source) allowed(pos token.Pos, name string) bool {
	_, after, found := strings.Cut(f.lines[f.line(pos)-1], "//lint:allow "+name+" ")
	return found && strings.TrimSpace(after) != ""
}

// importName returns the name under which the file uses an import path, and ""
// where it does not.
func (f *source) importName(importPath string) string {
	for _, spec := range f.ast.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err != nil || p != importPath {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return path.Base(importPath)
	}
	return ""
}

// selectors calls visit for every pkg.Name in the file where pkg is the import
// path given.
func (f *source) selectors(importPath string, visit func(sel *ast.SelectorExpr)) {
	name := f.importName(importPath)
	if name == "" {
		return
	}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == name {
				visit(sel)
			}
		}
		return true
	})
}

// load reads the module that contains the working directory.
func load() (*module, error) {
	root, err := findRoot()
	if err != nil {
		return nil, err
	}
	m := new(module)
	if m.path, err = modulePath(filepath.Join(root, "go.mod")); err != nil {
		return nil, err
	}
	return m, fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && skipped(d.Name()):
			return fs.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		return m.addFile(root, name)
	})
}

func skipped(dir string) bool {
	switch dir {
	case ".git", "bin", "node_modules", "testdata":
		return true
	}
	return false
}

func (m *module) addFile(root, name string) error {
	full := filepath.Join(root, filepath.FromSlash(name))
	if info, err := os.Stat(full); err != nil || info.Size() > textLimit {
		return err
	}
	content, err := os.ReadFile(full)
	if err != nil {
		return err
	}
	if bytes.IndexByte(content, 0) >= 0 {
		return nil
	}
	m.texts = append(m.texts, text{name, content})
	if path.Ext(name) == ".go" && !inNestedModule(root, name) {
		return m.addGo(name, content)
	}
	return nil
}

func inNestedModule(root, name string) bool {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(dir), "go.mod")); err == nil {
			return true
		}
	}
	return false
}

func findRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("no go.mod above the working directory")
		}
		dir = filepath.Dir(dir)
	}
}

func modulePath(gomod string) (string, error) {
	content, err := os.ReadFile(gomod)
	if err != nil {
		return "", err
	}
	for lines := bufio.NewScanner(bytes.NewReader(content)); lines.Scan(); {
		if p, found := strings.CutPrefix(lines.Text(), "module "); found {
			return strings.TrimSpace(p), nil
		}
	}
	return "", errors.New("go.mod names no module")
}
