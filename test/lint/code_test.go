package lint

import (
	"go/ast"
	"regexp"
	"strings"
)

// reminder is spelled so that it does not find itself.
var reminder = regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME)\b`)

var onlyUnsafeFiles = rule{
	name:    "unsafe files",
	instead: "move the code that needs it into a file named *_unsafe.go (*_unsafe_test.go) and keep that small",
	check: eachFile(func(f *source, report func(int, string, ...any)) {
		if strings.HasSuffix(f.name, "_unsafe.go") || strings.HasSuffix(f.name, "_unsafe_test.go") {
			return
		}
		for _, spec := range f.ast.Imports {
			if spec.Path.Value == `"unsafe"` {
				report(f.line(spec.Pos()), "imports unsafe")
			}
		}
	}),
	bad:  []sample{{"a/a.go", "package a\nimport \"unsafe\"\n"}, {"a/a_test.go", "package a\nimport u \"unsafe\"\n"}},
	good: []sample{{"a/a_unsafe.go", "package a\nimport \"unsafe\"\n"}, {"a/a_unsafe_test.go", "package a\nimport \"unsafe\"\n"}},
}

var noLinkname = rule{
	name:    "no linkname",
	instead: "use what the package exports, or write the few lines here",
	check: eachFile(func(f *source, report func(int, string, ...any)) {
		for _, group := range f.ast.Comments {
			for _, c := range group.List {
				if strings.HasPrefix(c.Text, "//go:link"+"name") {
					report(f.line(c.Pos()), "reaches into another package by go:link"+"name")
				}
			}
		}
	}),
	bad:  []sample{{"a/a.go", "package a\n//go:link" + "name nanotime runtime.nanotime\nfunc nanotime() int64\n"}},
	good: []sample{{"a/a.go", "package a\n//go:noescape\nfunc nanotime() int64\n"}},
}

var typedAtomics = rule{
	name:    "typed atomics",
	instead: "declare the variable as atomic.Uint64, atomic.Bool, atomic.Pointer[T] and so on, and use its methods; orderings have names in internal/fence",
	check: eachFile(func(f *source, report func(int, string, ...any)) {
		if f.importName("sync/atomic") == "." {
			report(1, "imports sync/atomic with a dot")
		}
		f.selectors("sync/atomic", func(sel *ast.SelectorExpr) {
			switch sel.Sel.Name {
			case "Bool", "Int32", "Int64", "Uint32", "Uint64", "Uintptr", "Pointer", "Value":
			default:
				report(f.line(sel.Pos()), "uses the function atomic.%s", sel.Sel.Name)
			}
		})
	}),
	bad: []sample{
		{"a/a.go", "package a\nimport \"sync/atomic\"\nvar x uint64\nfunc f() { atomic.AddUint64(&x, 1) }\n"},
		{"a/a.go", "package a\nimport at \"sync/atomic\"\nvar x uint64\nvar f = at.LoadUint64\n"},
		{"a/a.go", "package a\nimport . \"sync/atomic\"\nvar x uint64\nfunc f() { AddUint64(&x, 1) }\n"},
	},
	good: []sample{
		{"a/a.go", "package a\nimport \"sync/atomic\"\nvar x atomic.Uint64\nvar p atomic.Pointer[int]\nfunc f() { x.Add(1) }\n"},
		{"a/a.go", "package a\nimport \"example.com/atomic\"\nfunc f() { atomic.AddUint64(nil, 1) }\n"},
	},
}

var noSleep = rule{
	name:    "no sleep in tests",
	instead: "wait for the event itself (a channel, a counter polled with runtime.Gosched, testing/synctest), or end the line with //lint:allow sleep REASON",
	check: eachFile(func(f *source, report func(int, string, ...any)) {
		if !f.isTest() {
			return
		}
		f.selectors("time", func(sel *ast.SelectorExpr) {
			if sel.Sel.Name == "Sleep" && !f.allowed(sel.Pos(), "sleep") {
				report(f.line(sel.Pos()), "synchronises by time.Sleep")
			}
		})
	}),
	bad: []sample{
		{"a/a_test.go", "package a\nimport \"time\"\nfunc f() { time.Sleep(1) }\n"},
		{"a/a_test.go", "package a\nimport \"time\"\nfunc f() { time.Sleep(1) } //lint:allow sleep \n"},
		{"fabric/fabrictest/a.go", "package a\nimport t \"time\"\nfunc f() { t.Sleep(1) }\n"},
	},
	good: []sample{
		{"a/a.go", "package a\nimport \"time\"\nfunc f() { time.Sleep(1) }\n"},
		{"a/a_test.go", "package a\nimport \"time\"\nfunc f() { time.Sleep(1) } //lint:allow sleep lets the clock tick\n"},
	},
}

var noPrint = rule{
	name:    "no printing",
	instead: "return it, log it with the *slog.Logger that was passed in, write to an io.Writer parameter, or t.Log it in a test",
	check: eachFile(func(f *source, report func(int, string, ...any)) {
		if f.ast.Name.Name == "main" || f.under("cmd", "examples") || isExample(f) {
			return
		}
		f.selectors("fmt", func(sel *ast.SelectorExpr) {
			if strings.HasPrefix(sel.Sel.Name, "Print") {
				report(f.line(sel.Pos()), "fmt.%s in a library", sel.Sel.Name)
			}
		})
		f.selectors("os", func(sel *ast.SelectorExpr) {
			// A test that is its own child process speaks through its output.
			if sel.Sel.Name == "Stdout" && !f.isTestFile() {
				report(f.line(sel.Pos()), "os.Stdout in a library")
			}
		})
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if id, ok := call.Fun.(*ast.Ident); ok && (id.Name == "println" || id.Name == "print") {
					report(f.line(id.Pos()), "the builtin %s", id.Name)
				}
			}
			return true
		})
	}),
	bad: []sample{
		{"a/a.go", "package a\nimport \"fmt\"\nfunc f() { fmt.Println() }\n"},
		{"a/a_test.go", "package a\nimport \"fmt\"\nfunc f() { fmt.Printf(\"\") }\n"},
		{"a/a.go", "package a\nimport \"os\"\nvar w = os.Stdout\n"},
		{"a/a.go", "package a\nfunc f() { println() }\n"},
	},
	good: []sample{
		{"cmd/x/verb/a.go", "package verb\nimport \"fmt\"\nfunc f() { fmt.Println() }\n"},
		{"x/main.go", "package main\nimport \"fmt\"\nfunc f() { fmt.Println() }\n"},
		{"a/example_test.go", "package a\nimport \"fmt\"\nfunc f() { fmt.Println() }\n"},
		{"a/a_test.go", "package a\nimport \"os\"\nvar w = os.Stdout\n"},
		{"a/a.go", "package a\nimport \"fmt\"\nvar s = fmt.Sprint()\n"},
	},
}

func isExample(f *source) bool {
	base := f.name[strings.LastIndexByte(f.name, '/')+1:]
	return f.isTestFile() && strings.HasPrefix(base, "example")
}

var noClock = rule{
	name:    "no clock in the data path",
	instead: "take the time from the fabric's clock or Waiter, keep the one use in a file named clock.go, or end the line with //lint:allow time.Now REASON",
	check: eachFile(func(f *source, report func(int, string, ...any)) {
		if f.isTest() || !f.under("fabric", "rpc", "store", "server") || strings.HasSuffix(f.name, "/clock.go") {
			return
		}
		f.selectors("time", func(sel *ast.SelectorExpr) {
			switch sel.Sel.Name {
			case "Now", "Since", "Until":
				if !f.allowed(sel.Pos(), "time.Now") {
					report(f.line(sel.Pos()), "time.%s reads the clock", sel.Sel.Name)
				}
			}
		})
	}),
	bad: []sample{
		{"fabric/shm/a.go", "package shm\nimport \"time\"\nvar t = time.Now()\n"},
		{"rpc/a.go", "package rpc\nimport \"time\"\nvar t = time.Since(time.Time{})\n"},
		{"store/a.go", "package store\nimport \"time\"\nvar now = time.Now\n"},
		{"server/a.go", "package server\nimport \"time\"\nvar t = time.Now() //lint:allow time.Now\n"},
	},
	good: []sample{
		{"fabric/clock.go", "package fabric\nimport \"time\"\nvar t = time.Now()\n"},
		{"fabric/shm/a_test.go", "package shm\nimport \"time\"\nvar t = time.Now()\n"},
		{"fabric/fabrictest/a.go", "package fabrictest\nimport \"time\"\nvar t = time.Now()\n"},
		{"bench/a.go", "package bench\nimport \"time\"\nvar t = time.Now()\n"},
		{"server/a.go", "package server\nimport \"time\"\nvar t = time.Now() //lint:allow time.Now start of the process\n"},
	},
}
