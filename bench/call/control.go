package call

import (
	"time"

	"github.com/remora-kv/remora/bench/host"
	"github.com/remora-kv/remora/bench/load"
)

// peer is the server that a case talks to.
type peer = host.Peer[command, answer]

// command is what the server is told to do (see package child):
//
//	setup   Case, CPUs, where to listen   -> address
//	        (Apart: the server takes the CPUs of its own machine)
//	hide                                  -> nothing; the socket file is gone
//	count                                 -> what was used until now
type command struct {
	Do     string
	Case   *Case  `json:",omitempty"`
	CPUs   []int  `json:",omitempty"`
	Apart  bool   `json:",omitempty"`
	Listen string `json:",omitempty"`
}

// Name implements child.Command.
func (c command) Name() string { return c.Do }

// The commands.
const (
	doSetup = "setup"
	doHide  = "hide"
	doCount = "count"
)

// answer is what the server says to a command.
type answer struct {
	Address string `json:",omitempty"`
	Used    *used  `json:",omitempty"`
}

// used is what a process has used since some time in the past.
type used struct {
	Time  time.Duration // of a clock that only differences are taken of
	CPU   time.Duration
	Verbs load.Verbs
	Lost  uint64 // clients that were cut or vanished
}
