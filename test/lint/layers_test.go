package lint

import (
	"slices"
	"strconv"
	"strings"
	"testing"
)

// root stands for the root package of the module in the table of layers.
const root = "."

// layer is a part of the module and what it must not know.
type layer struct {
	from   string   // a directory with what is below it, "=name" for it alone, "*/name" for every directory of that name, or "name except name/below"
	never  []string // directories, with what is below them; root is the root package alone
	tests  bool     // holds for tests too
	reason string
}

var above = []string{root, "server", "bench", "cmd", "memcache", "resp", "kvl"}

// pathDir is how a client reaches a core.
const pathDir = "internal/path"

// layerTable draws the arrows of the architecture that must not exist: an arrow
// may only point down.
var layerTable = []layer{
	{"store", append([]string{"fabric", "rpc"}, above...), true, "an engine knows nothing of fabrics: it exports memory and brings a reader written against the read interface of store"},
	{"fabric", append([]string{"store", "rpc"}, above...), true, "a fabric knows nothing of keys: it moves bytes between regions"},
	{"internal except " + pathDir, append([]string{"fabric", "store", "rpc"}, above...), true, "internal packages are the ground the others stand on"},
	{pathDir, above, true, "it stands between the client and the paths of rpc: it is internal because only the client uses it"},
	{"rpc", above, false, "a path carries requests for any handler: pass the handler in"},
	{"*/wire", []string{"fabric", "store"}, true, "a wire format is bytes and a table, usable without fabric or engine"},
	{"server", []string{"cmd", "bench"}, false, "the command line and the benchmarks use the server, not the other way round"},
	{"=kvl", []string{"fabric", "store", "rpc", root, "server", "bench", "cmd"}, true, "the model is bytes and the making of them: what serves and loads it is below kvl"},
	{"kvl", []string{"bench", "cmd"}, false, "the command line and the benchmarks use the model, not the other way round"},
	{root, []string{"cmd", "bench", "server"}, false, "the client library does not bring the server along"},
	{"examples", []string{"internal", "test"}, false, "an example is a program that its reader can copy to another module"},
	{root, []string{
		"fabric/provider", "fabric/loop", "fabric/shm", "fabric/tcp", "fabric/verbs",
		"rpc/rfp", "rpc/herd", "rpc/sendrecv", "rpc/onesided", "rpc/driver", "store/mica", "store/cuckoo", "store/hopscotch", "store/slots",
	}, false, "the root package is the public client: how it reaches a core is in internal/path"},
	{"bench", []string{"cmd"}, false, "commands are thin: what two need is in a library"},
}

// direct is the shared half of the providers that reach their peer by loads and
// stores.
const direct = "fabric/internal/direct"

var layers = rule{
	name:    "layers",
	instead: "let the upper layer pass in what the lower one needs, or move what both need down",
	check: func(m *module, report reporter) {
		for _, f := range m.files {
			for _, spec := range f.ast.Imports {
				to, ok := m.inside(spec.Path.Value)
				if !ok {
					continue
				}
				if reason := forbidden(f, to); reason != "" {
					report(f.name+":"+strconv.Itoa(f.line(spec.Pos())), "%s imports %s: %s", f.dir(), to, reason)
				}
			}
		}
	},
	bad: []sample{
		{"store/mica/a.go", "package mica\nimport \"example.com/m/fabric\"\n"},
		{"store/a_test.go", "package store\nimport \"example.com/m/fabric/loop\"\n"},
		{"fabric/a.go", "package fabric\nimport \"example.com/m\"\n"},
		{"fabric/shm/a.go", "package shm\nimport \"example.com/m/rpc/rfp\"\n"},
		{"internal/arena/a.go", "package arena\nimport \"example.com/m/fabric\"\n"},
		{"internal/pathology/a.go", "package pathology\nimport \"example.com/m/rpc\"\n"},
		{"internal/path/a.go", "package path\nimport \"example.com/m\"\n"},
		{"internal/path/a_test.go", "package path\nimport \"example.com/m/server\"\n"},
		{"client.go", "package remora\nimport \"example.com/m/rpc/rfp\"\n"},
		{"client.go", "package remora\nimport \"example.com/m/store/mica\"\n"},
		{"fabric/shm/a.go", "package shm\nimport \"example.com/m/fabric/loop\"\n"},
		{"fabric/tcp/a.go", "package tcp\nimport \"example.com/m/fabric/internal/direct\"\n"},
		{"fabric/faults/a.go", "package faults\nimport \"example.com/m/fabric/loop\"\n"},
		{"rpc/wire/a.go", "package wire\nimport \"example.com/m/store\"\n"},
		{"client.go", "package remora\nimport \"example.com/m/server\"\n"},
		{"rpc/a.go", "package rpc\nimport \"example.com/m/server\"\n"},
		{"kvl/a.go", "package kvl\nimport \"example.com/m/fabric\"\n"},
		{"kvl/a_test.go", "package kvl\nimport \"example.com/m/rpc/rfp\"\n"},
		{"kvl/keli/a.go", "package keli\nimport \"example.com/m/bench/target/calls\"\n"},
		{"wire/a.go", "package wire\nimport \"example.com/m/fabric\"\n"},
		{"examples/a/main.go", "package main\nimport \"example.com/m/internal/arena\"\n"},
	},
	good: []sample{
		{"store/mica/a.go", "package mica\nimport \"example.com/m/store\"\nimport \"example.com/m/internal/arena\"\n"},
		{"fabric/shm/a.go", "package shm\nimport \"example.com/m/fabric\"\nimport \"example.com/m/fabric/internal/direct\"\n"},
		{"fabric/loop/a.go", "package loop\nimport \"example.com/m/fabric/internal/direct\"\n"},
		{"fabric/internal/direct/a.go", "package direct\nimport \"example.com/m/fabric\"\n"},
		{"fabric/faults/a_test.go", "package faults\nimport \"example.com/m/fabric/loop\"\nimport \"example.com/m/fabric/fabrictest\"\n"},
		{"internal/path/a.go", "package path\nimport \"example.com/m/rpc/rfp\"\nimport \"example.com/m/fabric\"\n"},
		{"client.go", "package remora\nimport \"example.com/m/fabric\"\nimport \"example.com/m/internal/path\"\n"},
		{"rpc/rfp/a.go", "package rfp\nimport \"example.com/m/fabric\"\nimport \"example.com/m/rpc/wire\"\n"},
		{"kvl/a.go", "package kvl\nimport \"example.com/m/internal/arena\"\n"},
		{"kvl/keli/a.go", "package keli\nimport \"example.com/m/fabric\"\nimport \"example.com/m/rpc/rfp\"\n"},
		{"storefront/a.go", "package storefront\nimport \"example.com/m/fabric\"\n"},
		{"fabric/a.go", "package fabric\nimport \"example.com/other/store\"\n"},
		{"client_test.go", "package remora\nimport \"example.com/m/server\"\n"},
		{"cmd/remora/a.go", "package main\nimport \"example.com/m/server\"\n"},
	},
}

// inside returns the directory of an import of this module.
func (m *module) inside(quoted string) (dir string, ok bool) {
	p, err := strconv.Unquote(quoted)
	if err != nil {
		return "", false
	}
	if p == m.path {
		return root, true
	}
	return strings.CutPrefix(p, m.path+"/")
}

// forbidden returns why the file must not import a directory, or "".
func forbidden(f *source, to string) string {
	for _, l := range layerTable {
		if (l.tests || !f.isTest()) && l.contains(f.dir()) && l.forbids(to) {
			return l.reason
		}
	}
	if f.isTestFile() {
		return "" // tests of one provider may run on another
	}
	return providerReason(f.dir(), to)
}

func (l layer) contains(dir string) bool {
	from, except, found := strings.Cut(l.from, " except ")
	if found && within(dir, except) {
		return false
	}
	if name, found := strings.CutPrefix(l.from, "="); found {
		return dir == name
	}
	if name, found := strings.CutPrefix(l.from, "*/"); found {
		return slices.Contains(strings.Split(dir, "/"), name)
	}
	return dir == from || from != root && within(dir, from)
}

func (l layer) forbids(to string) bool {
	return slices.ContainsFunc(l.never, func(n string) bool { return to == n || n != root && within(to, n) })
}

// providerReason keeps the packages below fabric apart: each knows the contract
// and itself.
func providerReason(from, to string) string {
	fromProvider, toProvider := provider(from), provider(to)
	switch {
	case within(to, direct) && within(from, "fabric") && fromProvider != "loop" && fromProvider != "shm" && fromProvider != "internal":
		return "only loop and shm reach their peer by loads and stores"
	case fromProvider == "" || toProvider == "" || fromProvider == toProvider:
		return ""
	case toProvider == "internal" || toProvider == "fabrictest":
		return ""
	case fromProvider == "provider":
		return "" // its job is to know them all
	}
	return "providers do not know each other: what two need moves to a package of its own below fabric/internal"
}

// provider is the directory right below fabric that dir is in, or "".
func provider(dir string) string {
	rest, found := strings.CutPrefix(dir, "fabric/")
	if !found {
		return ""
	}
	name, _, _ := strings.Cut(rest, "/")
	return name
}

func TestLayersHaveReasons(t *testing.T) {
	for _, l := range layerTable {
		if l.reason == "" || len(l.never) == 0 {
			t.Errorf("layer %s forbids nothing or does not say why", l.from)
		}
	}
}
