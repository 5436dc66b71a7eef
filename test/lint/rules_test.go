package lint

import (
	"go/ast"
	"strings"
)

// rules are all rules, each declared beside its check.
var rules = []rule{
	packageDocs,
	exportedDocs,
	packageNames,
	layers,
	onlyUnsafeFiles,
	noLinkname,
	typedAtomics,
	fileSizes,
	functionSizes,
	noSleep,
	noPrint,
	noClock,
	nothingLeftToDo,
}

var packageDocs = rule{
	name:    "package docs",
	instead: "begin a doc.go with a comment \"Package NAME ...\" (\"Command NAME ...\" for a program) that is the design note of the package",
	check: func(m *module, report reporter) {
		documented := make(map[string]bool)
		for _, f := range m.files {
			if !f.isTestFile() {
				documented[f.dir()] = documented[f.dir()] || hasPackageDoc(f)
			}
		}
		for dir, ok := range documented {
			if !ok {
				report(dir, "no package documentation")
			}
		}
	},
	bad: []sample{
		{"a/a.go", "package a\n"},
		{"a/a.go", "// helpful code\npackage a\n"},
		{"a/a.go", "// Package b is another.\npackage a\n"},
	},
	good: []sample{
		{"a/a.go", "// Package a is a sample.\npackage a\n"},
		{"cmd/a/main.go", "// Command a is a sample.\npackage main\n"},
		{"a/a_test.go", "package a\n"},
	},
}

func hasPackageDoc(f *source) bool {
	doc, name := f.ast.Doc.Text(), f.ast.Name.Name
	if name == "main" {
		return doc != ""
	}
	return strings.HasPrefix(doc, "Package "+name+" ")
}

var exportedDocs = rule{
	name:    "exported docs",
	instead: "say in a comment above it what it is or does, beginning with its name",
	check: eachFile(func(f *source, report func(int, string, ...any)) {
		if f.isTestFile() || f.ast.Name.Name == "main" {
			return
		}
		for _, d := range f.ast.Decls {
			if name := undocumented(d); name != "" {
				report(f.line(d.Pos()), "no documentation of %s", name)
			}
		}
	}),
	bad: []sample{
		{"a/a.go", "package a\n\nfunc F() {}\n"},
		{"a/a.go", "package a\n\ntype T int\n"},
		{"a/a.go", "package a\n\nvar V, w int\n"},
		{"a/a.go", "package a\n\ntype (\n\tt int\n\tU int\n)\n"},
	},
	good: []sample{
		{"a/a.go", "package a\n\n// F does it.\nfunc F() {}\n\nfunc g() {}\n"},
		{"a/a.go", "package a\n\ntype (\n\t// T is one.\n\tT int\n\tU int // U is one\n)\n"},
		{"a/a.go", "package a\n\n// Two of them.\nconst (\n\tA = 1\n\tB = 2\n)\n"},
		{"a/a.go", "package a\n\ntype t int\n\nfunc (t) String() string { return \"\" }\n"},
		{"cmd/a/a.go", "package main\n\nfunc F() {}\n"},
	},
}

// undocumented returns the first exported name of d without a comment, "" if there is
// none. Methods may be those of an interface, which documents them.
func undocumented(d ast.Decl) string {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil && d.Doc == nil && d.Name.IsExported() {
			return d.Name.Name
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			if name := undocumentedSpec(spec); d.Doc == nil && name != "" {
				return name
			}
		}
	}
	return ""
}

func undocumentedSpec(spec ast.Spec) string {
	switch s := spec.(type) {
	case *ast.TypeSpec:
		if s.Doc == nil && s.Comment == nil && s.Name.IsExported() {
			return s.Name.Name
		}
	case *ast.ValueSpec:
		for _, name := range s.Names {
			if s.Doc == nil && s.Comment == nil && name.IsExported() {
				return name.Name
			}
		}
	}
	return ""
}

var packageNames = rule{
	name:    "package names",
	instead: "put the code where it is used, or into a package named for what it provides",
	check: eachFile(func(f *source, report func(int, string, ...any)) {
		switch name := strings.TrimSuffix(f.ast.Name.Name, "_test"); name {
		case "util", "utils", "common", "helper", "helpers", "misc":
			report(f.line(f.ast.Name.Pos()), "package %s is a drawer", name)
		}
	}),
	bad:  []sample{{"util/a.go", "package util\n"}, {"x/a.go", "package common\n"}, {"x/a_test.go", "package helpers_test\n"}},
	good: []sample{{"fence/a.go", "package fence\n"}},
}

var nothingLeftToDo = rule{
	name:    "nothing left to do",
	instead: "do it now, or open an issue and say in the code what holds today",
	check: func(m *module, report reporter) {
		for _, t := range m.texts {
			if strings.HasSuffix(t.name, "go.sum") {
				continue // hashes contain anything
			}
			for _, word := range reminder.FindAll(t.content, -1) {
				report(t.name, "contains %s", word)
			}
		}
	},
	bad:  []sample{{"a.go", "package a // TO" + "DO: more\n"}, {"docs/x.md", "FIX" + "ME\n"}, {"a.go", "package a\nvar x = context.TO" + "DO()\n"}},
	good: []sample{{"a.go", "package a // done\n"}, {"go.sum", "h1:TO" + "DO\n"}},
}
