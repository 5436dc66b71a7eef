package perf

import "github.com/remora-kv/remora/bench/host"

// peer is the server that a case talks to.
type peer = host.Peer[command, answer]

// command is what the server is told to do (see package child):
//
//	setup   Case, CPUs, threads, where to listen   -> address, datagram addresses
//	        (no threads: the server takes what its own machine has)
//	link    datagram addresses of the client       -> (all lanes are connected)
//	start                                          -> (the programs run)
//	run     budget                                 -> tally (of an outbound test)
//	stop                                           -> tally
//	verify  operations that were posted            -> (the memory is right)
type command struct {
	Do       string
	Case     *Case    `json:",omitempty"`
	CPUs     []int    `json:",omitempty"`
	Threads  int      `json:",omitempty"`
	Listen   string   `json:",omitempty"`
	Datagram [][]byte `json:",omitempty"`
	Budget   budget
	Ops      uint64 `json:",omitempty"`
}

// Name implements child.Command.
func (c command) Name() string { return c.Do }

// The commands.
const (
	doSetup  = "setup"
	doLink   = "link"
	doStart  = "start"
	doRun    = "run"
	doStop   = "stop"
	doVerify = "verify"
)

// answer is what the server says to a command.
type answer struct {
	Address  string     `json:",omitempty"`
	Datagram [][]byte   `json:",omitempty"`
	Tally    *wireTally `json:",omitempty"`
}
