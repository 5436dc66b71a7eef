package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is one of the processes of a session.
type process struct {
	pid     int
	state   string // as /proc has it: R, S, D, T, Z
	command string
	where   string // the kernel's function in which it sleeps
}

// session returns the living processes of a session. A child stays in the session
// of its parent, even when that has died, unless it asks for one of its own.
func session(id int) []process {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	var found []process
	for _, name := range stats {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		// pid (name) state ppid pgrp session; the name may contain anything.
		end := bytes.LastIndexByte(text, ')')
		fields := strings.Fields(string(text[end+1:]))
		if end < 0 || len(fields) < 4 || fields[3] != strconv.Itoa(id) || fields[0] == "Z" {
			continue
		}
		dir := filepath.Dir(name)
		pid, _ := strconv.Atoi(filepath.Base(dir))
		found = append(found, process{pid: pid, state: fields[0], command: commandLine(dir), where: firstLine(dir + "/wchan")})
	}
	return found
}

func commandLine(dir string) string {
	text, _ := os.ReadFile(dir + "/cmdline")
	line := strings.TrimSpace(strings.ReplaceAll(string(text), "\x00", " "))
	return line[:min(len(line), 200)]
}

func firstLine(name string) string {
	text, _ := os.ReadFile(name)
	line, _, _ := strings.Cut(string(text), "\n")
	return line
}

// examine has all processes of a session that hangs say what they do: it returns a
// list of them and sends SIGQUIT to each, the leader last, which writes to its own
// output. It waits for the leader to end and kills what is left.
func examine(leader int, ended <-chan struct{}) string {
	var list strings.Builder
	for _, p := range session(leader) {
		fmt.Fprintf(&list, "process %d, state %s, in %s: %s\n", p.pid, p.state, p.where, p.command)
		if p.pid != leader {
			_ = syscall.Kill(p.pid, syscall.SIGCONT)
			_ = syscall.Kill(p.pid, syscall.SIGQUIT)
		}
	}
	time.Sleep(quitTime)
	_ = syscall.Kill(leader, syscall.SIGQUIT)
	select {
	case <-ended:
	case <-time.After(5 * quitTime):
	}
	killSession(leader)
	return list.String()
}

// quitTime is how long a process has to print its goroutines.
const quitTime = 2 * time.Second

// killSession kills what is left of a session and says what that was.
func killSession(id int) []process {
	left := session(id)
	for _, p := range left {
		_ = syscall.Kill(p.pid, syscall.SIGKILL)
	}
	return left
}
