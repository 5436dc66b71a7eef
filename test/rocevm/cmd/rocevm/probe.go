package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/remora-kv/remora/test/rocevm"
)

// probeVerb prints what the verbs of a guest can do. That something does not
// work is an answer and no failure of the probe.
func probeVerb(ctx context.Context, args []string, stdout, stderr io.Writer) (int, error) {
	flags, c := newFlags("probe", stderr)
	path := flags.String("json", "", "also write the answers to this file, as JSON")
	if err := flags.Parse(args); err != nil {
		return exitUsage, err
	}
	if flags.NArg() > 0 {
		return exitUsage, errors.New("rocevm: probe takes flags only")
	}
	tools, cleanup, err := compileTools(ctx)
	if err != nil {
		return exitUsage, err
	}
	defer cleanup()
	cluster, err := c.boot(ctx, stderr, tools...)
	if err != nil {
		return exitUsage, err
	}
	defer cluster.Close()
	ctx, cancel := c.deadline(ctx)
	defer cancel()
	found, err := cluster.Server().Probe(ctx)
	if err != nil {
		return report(ctx, cluster, stderr, err)
	}
	fmt.Fprintf(stdout, "kernel %s\n", found.Kernel)
	for _, each := range found.Capabilities {
		fmt.Fprintln(stdout, each)
	}
	if *path == "" {
		return 0, nil
	}
	text, err := json.MarshalIndent(found, "", "  ")
	if err != nil {
		return exitUsage, err
	}
	return 0, os.WriteFile(*path, append(text, '\n'), 0o644)
}

// compileTools compiles the programs in C for the guests; cleanup removes them.
func compileTools(ctx context.Context) (tools []rocevm.File, cleanup func(), err error) {
	dir, err := rocevm.TempDir()
	if err != nil {
		return nil, nil, err
	}
	tools, err = rocevm.CompileTools(ctx, dir)
	if err != nil {
		os.RemoveAll(dir)
		return nil, nil, err
	}
	return tools, func() { os.RemoveAll(dir) }, nil
}

// compilePrograms is compileTools, and our own program if asked for.
func compilePrograms(ctx context.Context, ours bool) (files []rocevm.File, cleanup func(), err error) {
	tools, cleanTools, err := compileTools(ctx)
	if err != nil || !ours {
		return tools, cleanTools, err
	}
	dir, err := rocevm.TempDir()
	if err != nil {
		cleanTools()
		return nil, nil, err
	}
	cleanup = func() {
		cleanTools()
		os.RemoveAll(dir)
	}
	program, err := rocevm.CompileRemora(ctx, dir)
	if err != nil {
		cleanup()
		return nil, nil, err
	}
	return append(tools, program...), cleanup, nil
}
