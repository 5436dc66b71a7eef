//go:build !linux

package process

import "syscall"

// processAttr is nil where no death signal exists: the server ends when its
// input does.
func processAttr() *syscall.SysProcAttr { return nil }
