package outside

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// without lists the public packages that need no example of their own.
var without = map[string]string{
	"fabric/loop":  "in the example of fabric",
	"fabric/shm":   "in the example of server",
	"fabric/verbs": "needs an adapter; used like the other providers",
	"kvl/app":      "in examples/",
	"rpc/onesided": "a part of clients and servers",
	"rpc/visit":    "a part of clients and servers",
	"rpc/wire":     "the format of frames, for the paths",
	"server/text":  "a part of the server",
}

// serving lists the packages whose example must also have run and printed what it promises.
var serving = []string{"", "/fabric", "/kvl", "/kvl/keli", "/kvl/load", "/rpc", "/rpc/driver", "/rpc/netrpc", "/rpc/rfp", "/server", "/store", "/store/hopscotch", "/store/mica"}

const (
	remora  = "github.com/remora-kv/remora"
	outside = "example.org/outside"
)

func TestExamplesRunOutsideTheModule(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	writeModule(t, root, dir)
	for _, pkg := range publicPackages(t, root) {
		example, err := os.ReadFile(filepath.Join(root, pkg, "example_test.go"))
		switch {
		case err == nil:
			write(t, filepath.Join(dir, pkg, "example_test.go"), example)
		case !errors.Is(err, os.ErrNotExist):
			t.Error(err)
		case without[pkg] == "":
			t.Errorf("%s has no example_test.go: show in one file how a program uses it, or say in without where it is shown", pkg)
		}
	}
	cmd := exec.CommandContext(t.Context(), "go", "test", "-json", "-vet=off", "-run=^Example", "./...")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off", "GOTOOLCHAIN=local")
	out, err := cmd.Output()
	passed, printed := results(t, out)
	if err != nil {
		t.Errorf("the examples fail outside the module: %v\n%s", err, printed)
	}
	for _, pkg := range serving {
		if !passed[outside+pkg] {
			t.Errorf("no example of %s has run", remora+pkg)
		}
	}
}

// writeModule writes a module that uses the working tree, with the same dependencies.
func writeModule(t *testing.T, root, dir string) {
	t.Helper()
	for _, name := range []string{"go.mod", "go.sum"} {
		content, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		if name == "go.mod" {
			content = bytes.Replace(content, []byte("module "+remora+"\n"), []byte("module "+outside+"\n"), 1)
			content = append(content, "\nrequire "+remora+" v0.0.0\n\nreplace "+remora+" => "+root+"\n"...)
		}
		write(t, filepath.Join(dir, name), content)
	}
}

// publicPackages returns the directories of the packages that other modules can import. Suites for
// tests, which have names in "test", are among them; benchmarks are not yet.
func publicPackages(t *testing.T, root string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-f", "{{if ne .Name \"main\"}}{{.ImportPath}}{{end}}", "./...")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, p := range strings.Fields(string(out)) {
		pkg := strings.TrimPrefix(strings.TrimPrefix(p, remora), "/")
		parts := strings.Split(pkg, "/")
		if !slices.Contains(parts, "internal") && !slices.Contains([]string{"bench", "examples", "test"}, parts[0]) {
			all = append(all, pkg)
		}
	}
	return all
}

// results reads the output of go test -json: the packages of which an example has passed, and all
// that was printed.
func results(t *testing.T, out []byte) (passed map[string]bool, printed string) {
	t.Helper()
	passed = make(map[string]bool)
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var event struct{ Action, Package, Test, Output string }
		if err := dec.Decode(&event); errors.Is(err, io.EOF) {
			return passed, printed
		} else if err != nil {
			t.Fatalf("%v in the output of go test:\n%s", err, out)
		}
		printed += event.Output
		if event.Action == "pass" && event.Test != "" {
			passed[event.Package] = true
		}
	}
}

func write(t *testing.T, name string, content []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
}
