package cache

import "github.com/remora-kv/remora/bench/host"

// hostProcess is the server process of Remora that a trial talks to.
type hostProcess = host.Peer[order, answer]

// order is what the server process is told to do (see package child):
//
//	setup   Case, CPUs   -> address
//	hide                 -> nothing: all clients are connected, so the socket file
//	                        has done its duty
type order struct {
	Do      string
	Case    *Case  `json:",omitempty"`
	CPUs    []int  `json:",omitempty"`
	Version string `json:",omitempty"`
}

// Name implements child.Command.
func (c order) Name() string { return c.Do }

// The commands.
const (
	doSetup = "setup"
	doHide  = "hide"
)

// answer is what the server process says to a command.
type answer struct {
	Address string `json:",omitempty"`
}
