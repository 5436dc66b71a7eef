package rocevm

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/remora-kv/remora/test/gotest"
)

const (
	// testRoot is where test binaries are in the guest, each in a directory
	// of the name of its package.
	testRoot = "/test"
	// testMargin is how much earlier than the harness the test binary itself
	// ends a test that hangs: its own report is the better one.
	testMargin = 15 * time.Second
)

// TestOptions say how test binaries are compiled and run.
type TestOptions struct {
	Tags string   // build tags
	Race bool     // compile with the race detector
	Args []string // for the test binary, such as -test.run=X
}

// TestBinary is a compiled test of one package.
type TestBinary struct {
	Package string // import path
	files   []File // the binary and testdata
	dir     string // its directory in the guest
}

// Files are what a guest needs to run the binary.
func (b *TestBinary) Files() []File { return b.files }

// CompileTests compiles the tests of the packages that match the patterns into
// dir. Packages without tests are left out; patterns without any test at all are
// an error.
func CompileTests(ctx context.Context, dir string, o TestOptions, patterns ...string) ([]*TestBinary, error) {
	how := gotest.Options{Tags: o.Tags, Race: o.Race, Env: []string{"CGO_ENABLED=1", "GOOS=linux", "GOARCH=amd64"}}
	found, err := gotest.List(ctx, dir, how, patterns...)
	if err != nil {
		return nil, err
	}
	binaries := make([]*TestBinary, 0, len(found))
	for _, f := range found {
		if err := f.Compile(ctx, how); err != nil {
			return nil, err
		}
		b := &TestBinary{Package: f.Package, dir: path.Join(testRoot, f.Package)}
		b.files = []File{{Host: f.File, Guest: b.program()}}
		if data := filepath.Join(f.Source, "testdata"); isDir(data) {
			b.files = append(b.files, File{Host: data, Guest: path.Join(b.dir, "testdata")})
		}
		binaries = append(binaries, b)
	}
	return binaries, nil
}

func (b *TestBinary) program() string { return path.Join(b.dir, path.Base(b.Package)+".test") }

func isDir(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// Command runs the binary in its directory of the guest. A test that hangs is
// ended by the binary a little before the timeout given.
func (b *TestBinary) Command(o TestOptions, timeout time.Duration) Command {
	own := timeout - testMargin
	if own < testMargin {
		own = timeout / 2
	}
	argv := append([]string{b.program()}, gotest.Flags(own)...)
	return Command{Argv: append(argv, o.Args...), Dir: b.dir}
}
