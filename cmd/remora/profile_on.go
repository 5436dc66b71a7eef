//go:build profile

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/pprof"
)

// profiled writes a CPU profile of this process, from now until its result is called, into
// the directory REMORA_PROFILE. script/pgo merges them for the compiler.
func profiled() func() {
	dir := os.Getenv("REMORA_PROFILE")
	if dir == "" {
		return func() {}
	}
	f, err := os.Create(filepath.Join(dir, fmt.Sprintf("%d.pprof", os.Getpid())))
	if err == nil {
		err = pprof.StartCPUProfile(f)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "remora: no profile:", err)
		return func() {}
	}
	return func() {
		pprof.StopCPUProfile()
		if err := f.Close(); err != nil {
			fmt.Fprintln(os.Stderr, "remora: the profile is not whole:", err)
		}
	}
}
