//go:build !linux

package cachetest

import "syscall"

// attributes are none where there is no death signal.
func attributes() *syscall.SysProcAttr { return nil }
