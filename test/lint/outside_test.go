package lint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// withoutExample lists the public packages that need no example of their own.
var withoutExample = map[string]string{
	"fabric/loop":  "in the example of fabric",
	"fabric/shm":   "in the example of server",
	"fabric/verbs": "needs an adapter; used like the other providers",
	"kvl/app":      "in examples/",
	"rpc/onesided": "a part of clients and servers",
	"rpc/wire":     "the format of frames, for the paths",
	"server/text":  "a part of the server",
}

// printing lists the packages whose example must also have run and printed what it promises.
var printing = []string{".", "fabric", "kvl", "kvl/keli", "kvl/load", "rpc", "rpc/driver", "rpc/netrpc", "rpc/rfp", "server", "store", "store/hopscotch", "store/mica"}

// TestExamplesRunOutsideTheModule makes a module beside this one, whose go.mod replaces this module by
// the working tree, copies the example of each public package (example_test.go) there, and runs them.
// So an example that is printed in the documentation compiles where its readers are: without internal
// packages, and without helpers from other test files. So does the program in README.md. It needs no network: the dependencies and their
// checksums are those of this module.
func TestExamplesRunOutsideTheModule(t *testing.T) {
	m, err := load()
	if err != nil {
		t.Fatal(err)
	}
	root, err := findRoot()
	if err != nil {
		t.Fatal(err)
	}
	const outside = "example.org/outside"
	dir, examples := t.TempDir(), make(map[string]bool)
	var packages []string
	for _, f := range m.texts {
		switch pkg := path.Dir(f.name); {
		case f.name == "go.mod":
			content := bytes.Replace(f.content, []byte("module "+m.path+"\n"), []byte("module "+outside+"\n"), 1)
			content = append(content, "\nrequire "+m.path+" v0.0.0\n\nreplace "+m.path+" => "+root+"\n"...)
			write(t, filepath.Join(dir, f.name), content)
		case f.name == "go.sum":
			write(t, filepath.Join(dir, f.name), f.content)
		case f.name == "README.md":
			write(t, filepath.Join(dir, "readme", "example_test.go"), firstProgram(t, m.path, f.content))
		case path.Base(f.name) == "example_test.go" && isOffered(pkg):
			examples[pkg] = true
			write(t, filepath.Join(dir, f.name), f.content)
		}
	}
	for _, f := range m.files {
		if pkg := f.dir(); isOffered(pkg) && !f.isTestFile() && f.ast.Name.Name != "main" && !slices.Contains(packages, pkg) {
			packages = append(packages, pkg)
		}
	}
	for _, pkg := range packages {
		if !examples[pkg] && withoutExample[pkg] == "" {
			t.Errorf("%s has no example_test.go: show in one file how a program uses it, or say in withoutExample where it is shown", pkg)
		}
	}
	cmd := exec.CommandContext(t.Context(), "go", "test", "-json", "-vet=off", "-run=^Example", "./...")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off", "GOTOOLCHAIN=local")
	out, err := cmd.Output()
	passed, printed := testResults(t, out)
	if err != nil {
		t.Errorf("the examples fail outside the module: %v\n%s", err, printed)
	}
	for _, pkg := range printing {
		if !passed[path.Join(outside, pkg)] {
			t.Errorf("no example of %s has run", pkg)
		}
	}
}

// firstProgram makes the lines of Go in README.md a file that compiles if they are right.
func firstProgram(t *testing.T, module string, readme []byte) []byte {
	t.Helper()
	_, rest, ok := bytes.Cut(readme, []byte("```go\n"))
	lines, _, found := bytes.Cut(rest, []byte("```"))
	if !ok || !found {
		t.Fatal("README.md has no Go program")
	}
	return fmt.Appendf(nil, `package readme_test

import (
	"context"
	"time"

	%q
)

func Example() {
	_ = func(ctx context.Context) error {
		%s
		_, _ = version, value
		return err
	}
}
`, module, lines)
}

// isOffered reports whether programs of other modules can import a package. Suites for tests, which
// have names in "test", are among them; benchmarks are not yet.
func isOffered(pkg string) bool {
	parts := strings.Split(pkg, "/")
	return !slices.Contains(parts, "internal") && !slices.Contains([]string{"bench", "examples", "test"}, parts[0])
}

// testResults reads the output of go test -json: the packages of which an example has passed, and all
// that was printed.
func testResults(t *testing.T, out []byte) (passed map[string]bool, printed string) {
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
