package host

import "syscall"

// processAttr puts the server into its own process group, so that Ctrl-C ends
// the client, which ends the server; and ties its life to ours.
func processAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// guardAttr is that of a process which has something to do when this one is gone.
func guardAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
