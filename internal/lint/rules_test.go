package lint

import "strings"

// rules are all rules, each declared beside its check.
var rules = []rule{
	packageDocs,
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
