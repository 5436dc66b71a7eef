package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// pressure is a way to make the machine slow for the tests.
type pressure struct {
	name    string
	oneCPU  bool
	busy    bool
	stopped bool
	race    bool
	slower  int // factor of the time that a package may take
}

var pressures = []pressure{
	{name: "none", slower: 1},
	{name: "one-cpu", oneCPU: true, slower: 4},
	{name: "busy", busy: true, slower: 4},
	{name: "stopped", stopped: true, slower: 6},
	{name: "all", oneCPU: true, busy: true, stopped: true, race: true, slower: 12},
}

func pressureNames() []string {
	var names []string
	for _, p := range pressures {
		names = append(names, p.name)
	}
	return names
}

// command is the command line of a program under the pressure, the n-th job.
func (p pressure) command(n int, program string, args []string) []string {
	argv := append([]string{program}, args...)
	if p.oneCPU {
		argv = append([]string{"taskset", "-c", strconv.Itoa(n % runtime.NumCPU())}, argv...)
	}
	return argv
}

// env are variables for a program under the pressure.
func (p pressure) env() []string {
	if p.oneCPU {
		return []string{"GOMAXPROCS=1"}
	}
	return nil
}

// startLoops starts a busy loop on every CPU and returns what ends them.
func startLoops(ctx context.Context) (stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	var loops sync.WaitGroup
	stop = func() { cancel(); loops.Wait() }
	for cpu := range runtime.NumCPU() {
		cmd := exec.CommandContext(ctx, "taskset", "-c", strconv.Itoa(cpu), "sh", "-c", "while :; do :; done")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			stop()
			return nil, fmt.Errorf("busy loop: %w", err)
		}
		loops.Go(func() { _ = cmd.Wait() }) // killed
	}
	return stop, nil
}

const (
	meanStopped = 20 * time.Millisecond
	meanRunning = 5 * time.Millisecond
)

// stopAtRandom stops and continues a process group until done is closed.
func stopAtRandom(group int, done <-chan struct{}) {
	pause := func(mean time.Duration) bool {
		select {
		case <-done:
			return false
		case <-time.After(rand.N(2 * mean)):
			return true
		}
	}
	for pause(meanRunning) {
		_ = syscall.Kill(-group, syscall.SIGSTOP) // fails when the group has ended
		ok := pause(meanStopped)
		_ = syscall.Kill(-group, syscall.SIGCONT)
		if !ok {
			return
		}
	}
}
