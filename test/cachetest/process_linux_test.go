package cachetest_test

import (
	"bufio"
	"fmt"
	"os"
	"syscall"
	"testing"

	"github.com/remora-kv/remora/test/cachetest"
)

func TestMain(m *testing.M) {
	if cachetest.Role() == "" {
		os.Exit(m.Run())
	}
	// The other process says its role and its arguments, then what it hears.
	fmt.Fprintln(os.Stdout, cachetest.Role(), os.Args[1:])
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		if in.Text() == "end" {
			fmt.Fprintln(os.Stderr, "ending")
			os.Exit(7)
		}
		fmt.Fprintln(os.Stdout, "heard", in.Text())
	}
}

func TestProcesses(t *testing.T) {
	p := cachetest.Play(t, "echo", "a", "b")
	if line := p.Line(); line != "echo [a b]" {
		t.Errorf("it said %q", line)
	}
	if v, err := cachetest.TakeInventory(p.Pid()); err != nil || v.Files < 3 || v.RSS == 0 {
		t.Errorf("it has %+v, %v", v, err)
	}
	p.Tell("some", 1)
	if line := p.Line(); line != "heard some 1" {
		t.Errorf("it said %q", line)
	}
	p.Tell("end")
	p.Said.Await(t, "ending", 1)
	if code := p.Exit(); code != 7 {
		t.Errorf("exit code %d", code)
	}
	if _, err := p.ReadLine(); err == nil {
		t.Error("a line after the end")
	}
	killed := cachetest.Play(t, "echo")
	killed.Line()
	killed.Signal(syscall.SIGKILL)
	if code := killed.Exit(); code != -1 {
		t.Errorf("exit code %d of a killed process", code)
	}
	killed.Kill()
}
