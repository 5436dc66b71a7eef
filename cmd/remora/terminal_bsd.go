//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package main

import "golang.org/x/sys/unix"

// ioctlReadTermios succeeds on terminals only.
const ioctlReadTermios = unix.TIOCGETA
