package gotest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Options say how tests are compiled.
type Options struct {
	Tags string   // build tags
	Race bool     // compile with the race detector
	Env  []string // variables added to the environment of the go command
}

// Binary is the test of one package: a program once Compile has returned.
type Binary struct {
	Package string // import path
	Source  string // directory of the package, in which its tests run
	File    string // path of the program
}

// List returns the packages that match the patterns and have tests, each with a
// File in dir. Patterns without any test are an error.
func List(ctx context.Context, dir string, o Options, patterns ...string) ([]*Binary, error) {
	args := append([]string{"list", "-tags=" + o.Tags, "-f", "{{.ImportPath}}\t{{.Dir}}\t{{len .TestGoFiles}}{{len .XTestGoFiles}}"}, patterns...)
	text, err := o.goCommand(ctx, args...)
	if err != nil {
		return nil, err
	}
	var binaries []*Binary
	for line := range strings.Lines(text) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		if len(fields) != 3 || fields[2] == "00" {
			continue
		}
		file := filepath.Join(dir, strings.ReplaceAll(fields[0], "/", "_")+".test")
		binaries = append(binaries, &Binary{Package: fields[0], Source: fields[1], File: file})
	}
	if len(binaries) == 0 {
		return nil, fmt.Errorf("gotest: no tests in %s with tags %q", strings.Join(patterns, " "), o.Tags)
	}
	return binaries, nil
}

// Compile compiles the test of the package to File.
func (b *Binary) Compile(ctx context.Context, o Options) error {
	args := []string{"test", "-c", "-tags=" + o.Tags, "-o", b.File}
	if o.Race {
		args = append(args, "-race")
	}
	_, err := o.goCommand(ctx, append(args, b.Package)...)
	return err
}

func (o Options) goCommand(ctx context.Context, args ...string) (string, error) {
	var stdout, stderr strings.Builder
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Env = append(os.Environ(), o.Env...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("gotest: go %s: %w\n%s%s", strings.Join(args, " "), err, &stdout, &stderr)
	}
	return stdout.String(), nil
}

// Flags are the arguments with which a test binary prints what a Log reads. A
// timeout of 0 means none.
func Flags(timeout time.Duration) []string {
	return []string{"-test.v=test2json", "-test.paniconexit0", "-test.timeout=" + timeout.String()}
}
