package lint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

// notYetPublic lists the directories that the rule does not look at.
var notYetPublic = map[string]string{
	"bench": "its packages are being merged; what remains public then has to keep the rule",
}

// TestNoInternalTypeIsExported checks that a program of another module can use every public
// package: it cannot name a type of an internal package, so no exported name may need one.
func TestNoInternalTypeIsExported(t *testing.T) {
	m, err := load()
	if err != nil {
		t.Fatal(err)
	}
	packages, err := publicPackages(t, m.path)
	if err != nil {
		t.Fatal(err)
	}
	if len(packages) < 10 {
		t.Fatalf("%d public packages found", len(packages))
	}
	for _, pkg := range packages {
		for _, b := range internalTypes(pkg, m.path) {
			name := strings.TrimPrefix(strings.TrimPrefix(pkg.Path(), m.path), "/") + "." + b.name
			t.Errorf("%s: %s names %s: declare a type in a public package that holds it in an unexported field, or take a function", b.where, name, b.what)
		}
	}
}

// publicPackages loads the packages of a module that other modules can import, from export data.
func publicPackages(t *testing.T, module string) ([]*types.Package, error) {
	root, err := findRoot()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-json=ImportPath,Export,Name", "./...")
	cmd.Dir, cmd.Stderr = root, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	exports := make(map[string]string)
	var public []string
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct{ ImportPath, Export, Name string }
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		exports[p.ImportPath] = p.Export
		if p.Name != "main" && isPublic(p.ImportPath, module) {
			public = append(public, p.ImportPath)
		}
	}
	lookup := func(p string) (io.ReadCloser, error) { return os.Open(exports[p]) }
	fromExports := importer.ForCompiler(positions, "gc", lookup)
	packages := make([]*types.Package, len(public))
	for i, p := range public {
		if packages[i], err = fromExports.Import(p); err != nil {
			return nil, err
		}
	}
	return packages, nil
}

// positions are those of all packages that the rule loads.
var positions = token.NewFileSet()

// isPublic reports whether a package is part of what the module offers to others: it is not
// internal, no suite for tests, and not exempt.
func isPublic(importPath, module string) bool {
	if !within(importPath, module) || isInternal(importPath, module) {
		return false
	}
	dir := strings.TrimPrefix(strings.TrimPrefix(importPath, module), "/")
	top, _, _ := strings.Cut(dir, "/")
	return top != "test" && top != "examples" && notYetPublic[top] == "" && !strings.HasSuffix(dir, "test")
}

// isInternal reports whether other modules cannot import a package of the module.
func isInternal(importPath, module string) bool {
	return within(importPath, module) && slices.Contains(strings.Split(importPath, "/"), "internal")
}

// breach is an exported name that needs an internal type.
type breach struct{ where, name, what string }

// internalTypes returns the exported names of a package whose declarations name a type of an
// internal package of the module.
func internalTypes(pkg *types.Package, module string) []breach {
	w := &walker{module: module, pkg: pkg, seen: make(map[types.Type]bool)}
	for _, name := range pkg.Scope().Names() {
		if obj := pkg.Scope().Lookup(name); obj.Exported() {
			w.object(name, obj)
		}
	}
	return w.found
}

// walker follows types as far as users of a package can see.
type walker struct {
	module string
	pkg    *types.Package
	name   string // of what is being walked
	pos    token.Pos
	seen   map[types.Type]bool
	found  []breach
}

// object walks what is declared under a name.
func (w *walker) object(name string, obj types.Object) {
	w.name, w.pos = name, obj.Pos()
	if tn, ok := obj.(*types.TypeName); ok && !tn.IsAlias() {
		w.declared(name, tn.Type().(*types.Named)) //lint:ignore errcheck a declared type is named
		return
	}
	if alias, ok := obj.Type().(*types.Alias); ok && alias.Obj() == obj {
		w.walk(alias.Rhs())
		return
	}
	w.walk(obj.Type())
}

// declared walks a type of the package, with its fields and methods.
func (w *walker) declared(name string, n *types.Named) {
	if w.seen[n] {
		return
	}
	w.seen[n] = true
	pos := w.pos
	for tp := range n.TypeParams().TypeParams() {
		w.walk(tp.Constraint())
	}
	w.members(name, n.Underlying())
	for m := range n.Methods() {
		if m.Exported() {
			w.name, w.pos = name+"."+m.Name(), m.Pos()
			w.walk(m.Type())
		}
	}
	w.name, w.pos = name, pos
}

// members walks the fields of a struct and the methods of an interface under names of their own,
// and any other type as it is.
func (w *walker) members(name string, t types.Type) {
	switch t := t.(type) {
	case *types.Struct:
		for f := range t.Fields() {
			if f.Exported() {
				w.object(name+"."+f.Name(), f)
			} else if f.Embedded() {
				w.promoted(name+"."+f.Name(), f)
			}
		}
	case *types.Interface:
		for m := range t.ExplicitMethods() {
			if m.Exported() {
				w.object(name+"."+m.Name(), m)
			}
		}
		for e := range t.EmbeddedTypes() {
			w.walk(e)
		}
	default:
		w.walk(t)
	}
}

// promoted walks the type of an embedded field that is not exported: nobody can name the field, but
// its own fields and methods are there.
func (w *walker) promoted(name string, f *types.Var) {
	w.name, w.pos = name, f.Pos()
	t := types.Unalias(f.Type())
	if p, ok := t.(*types.Pointer); ok {
		t = types.Unalias(p.Elem())
	}
	if n, ok := t.(*types.Named); ok {
		w.declared(name, n)
	}
}

// walk walks a type where it is used.
func (w *walker) walk(t types.Type) {
	switch t := t.(type) {
	case *types.Alias:
		if !w.reported(t.Obj()) {
			w.walk(types.Unalias(t))
		}
	case *types.Named:
		for arg := range t.TypeArgs().Types() {
			w.walk(arg)
		}
		// A type that is not exported shows its fields and methods where it is returned.
		if obj := t.Obj(); !w.reported(obj) && obj.Pkg() == w.pkg && !obj.Exported() {
			w.declared(w.name, t.Origin())
		}
	case *types.Signature:
		for p := range t.Params().Variables() {
			if !w.unwritable(p.Type()) {
				w.walk(p.Type())
			}
		}
		w.walk(t.Results())
		for tp := range t.TypeParams().TypeParams() {
			w.walk(tp.Constraint())
		}
	case *types.Tuple:
		for v := range t.Variables() {
			w.walk(v.Type())
		}
	case *types.Map:
		w.walk(t.Key())
		w.walk(t.Elem())
	case *types.Union:
		for term := range t.Terms() {
			w.walk(term.Type())
		}
	case *types.Struct, *types.Interface:
		name, pos := w.name, w.pos
		w.members(name, t)
		w.name, w.pos = name, pos
	case interface{ Elem() types.Type }: // pointer, slice, array, channel
		w.walk(t.Elem())
	}
}

// unwritable reports whether no other package can write a function with a parameter of this
// type, as for the functions behind options.
func (w *walker) unwritable(t types.Type) bool {
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	n, ok := t.(*types.Named)
	return ok && n.Obj().Pkg() == w.pkg && !n.Obj().Exported()
}

// reported reports a type if it is internal.
func (w *walker) reported(obj *types.TypeName) bool {
	if obj.Pkg() == nil || !isInternal(obj.Pkg().Path(), w.module) {
		return false
	}
	what := strings.TrimPrefix(obj.Pkg().Path(), w.module+"/") + "." + obj.Name()
	w.found = append(w.found, breach{positions.Position(w.pos).String(), w.name, what})
	return true
}

// TestInternalTypesAreFound tries the rule on packages that break it and packages that keep it.
func TestInternalTypesAreFound(t *testing.T) {
	const module = "example.com/m"
	arena := check(t, module+"/internal/arena", "type Arena struct{ N int }\ntype Pair[T any] struct{ A T }\nfunc New() *Arena { return nil }\nfunc (*Arena) Self() *Arena { return nil }")
	samples := map[string]string{ // what is reported, by declarations
		"func F(a *arena.Arena) {}":                                                   "F",
		"func F() []map[string]arena.Arena { return nil }":                            "F",
		"func F(f func(chan<- [2]arena.Arena)) {}":                                    "F",
		"func F[T arena.Arena | int](t T) {}":                                         "F",
		"func F() arena.Pair[int] { return arena.Pair[int]{} }":                       "F",
		"var V = arena.New()":                                                         "V",
		"type T = arena.Arena":                                                        "T",
		"type T = []arena.Arena":                                                      "T",
		"type T struct{ A *arena.Arena }":                                             "T.A",
		"type T struct{ *arena.Arena }":                                               "T.Arena",
		"type T struct{ S struct{ A arena.Arena } }":                                  "T.S.A",
		"type T int\nfunc (t *T) M() *arena.Arena { return nil }":                     "T.M",
		"type T interface{ M(arena.Arena) }":                                          "T.M",
		"type T []arena.Arena":                                                        "T",
		"type T[P interface{ *arena.Arena }] struct{}":                                "T",
		"type t struct{ A arena.Arena }\nfunc F() *t { return nil }":                  "F.A",
		"type t struct{}\nfunc (t) M(arena.Arena) {}\ntype U struct{ t }":             "U.t.M",
		"type a = arena.Arena\nfunc F(a) {}":                                          "F",
		"type a = arena.Arena\ntype T struct{ *a }":                                   "T.a.Self",
		"type p = arena.Pair[int]\ntype T struct{ p }":                                "",
		"type T struct{ a *arena.Arena }":                                             "",
		"type t struct{ A *arena.Arena }\ntype Option func(*t)":                       "",
		"type T struct{ a *arena.Arena }\nfunc (t T) m() *arena.Arena { return t.a }": "",
		"func f(*arena.Arena) {}\nvar v = arena.New()":                                "",
		"type t struct{ A *arena.Arena }\ntype U struct{ t t }":                       "",
		"type T struct{ Next *T }\nfunc F(T) error { return nil }":                    "",
		"type T interface{ m(arena.Arena) }":                                          "",
	}
	for decls, want := range samples {
		pkg := check(t, module+"/a", "import \""+arena.Path()+"\"\nvar _ arena.Arena\n"+decls, arena)
		var names []string
		for _, b := range internalTypes(pkg, module) {
			names = append(names, b.name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("reported %q instead of %q:\n%s", got, want, decls)
		}
	}
	for p, want := range map[string]bool{
		module: true, module + "/a/b": true, module + "/contest/a": true, "example.com/mm": false,
		module + "/internal/a": false, module + "/a/internal": false, module + "/a/atest": false, module + "/test/a": false, module + "/bench/a": false,
	} {
		if isPublic(p, module) != want {
			t.Errorf("isPublic(%q) is %t", p, !want)
		}
	}
}

// check type-checks a package of one file that may import others.
func check(t *testing.T, importPath, body string, imports ...*types.Package) *types.Package {
	t.Helper()
	f, err := parser.ParseFile(positions, "a.go", "package "+path.Base(importPath)+"\n"+body, 0)
	if err != nil {
		t.Fatal(err)
	}
	cfg := types.Config{Importer: importsOf(imports)}
	pkg, err := cfg.Check(importPath, positions, []*ast.File{f}, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, body)
	}
	return pkg
}

type importsOf []*types.Package

// Import implements types.Importer.
func (all importsOf) Import(importPath string) (*types.Package, error) {
	for _, p := range all {
		if p.Path() == importPath {
			return p, nil
		}
	}
	return nil, fmt.Errorf("no package %q", importPath)
}
