package cachetest

import "syscall"

// attributes have the kernel kill a process whose test dies.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
