package pgtest

import "syscall"

// attributes have a process die with this one; SIGQUIT is an immediate shutdown.
func attributes(as *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: as, Pdeathsig: syscall.SIGQUIT}
}
