package kvl

import (
	"time"

	"github.com/remora-kv/remora/bench/host"
)

// peer is the server of a case.
type peer = host.Peer[command, answer]

// command is what the server is told to do (see package child):
//
//	setup   Case, CPUs   -> address; of links, what was built
//	hide                 -> its socket file has done its duty
//	count                -> CPU time used until now
type command struct {
	Do   string
	Case *Case `json:",omitempty"`
	CPUs []int `json:",omitempty"`
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
	Address string        `json:",omitempty"`
	Items   int64         `json:",omitempty"`
	Bytes   int64         `json:",omitempty"`
	CPU     time.Duration `json:",omitempty"`
}
