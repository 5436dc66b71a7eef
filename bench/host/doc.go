// Package host is the machine under a benchmark: the processes that it starts here and on
// other machines, the CPUs that it pins threads to, and the clocks that it trusts.
//
// # Peers
//
// A Peer is a process of a benchmark: this binary, started again and told what to do by JSON
// objects, one per line, over its standard input and output.
//
//	this process                               peer
//	+----------------------------+   JSON    +----------------------------+
//	| StartPeer, Ask  commands --+--stdin--->| Obey                       |
//	|                 <-answers--+--stdout---+                            |
//	+----------------------------+           +----------------------------+
//
// The peer executes a command and answers it, one after the other. An answer is an object of
// the benchmark's own type, or an object whose field Error says why there is none. A peer
// exits when its input ends. On the loop fabric, which has only one process, it is a goroutine
// that speaks the same protocol (GoPeer). The protocol runs over pipes and not over the fabric
// under test, so that a broken fabric can still be told to stop, and so that a peer can be
// started by any command, ssh included.
//
//	P1  A process other than a guard (L2) dies with this one, however this one ends: the kernel
//	    kills it when the thread that started it ends, and that thread lives as long as the
//	    process.
//	P2  It has a process group of its own, so that Ctrl-C ends the client, which ends the
//	    server.
//	P3  A process that is to be pinned is pinned from its first instruction, with all its
//	    threads: it inherits the CPUs of the thread that starts it.
//	P4  Only processes that were started here are ended. A process is asked first (by the end of
//	    its input, or SIGTERM), and killed if it is still there after a timeout.
//
// # Agents
//
// An agent starts peers on its machine for a controller on another one, and carries commands
// and answers between the two.
//
//	controller                     agent                      peer
//	+----------+      TCP       +-----------+      pipes      +------------+
//	| commands-+--------------->|  handshake, then lines  --->| stdin      |
//	|          |<---------------+-----------<---------------- | stdout     |
//	+----------+                +-----------+                 +------------+
//
// A connection is one peer. It begins with a handshake of three lines of JSON:
//
//	agent        greeting   protocol, version, a nonce
//	controller   hello      protocol, version, the run, a proof that it knows the token
//	agent        verdict    nothing, or why not
//
// Whoever can talk to an agent can make it send requests to any server that the machine
// reaches. Therefore:
//
//	A1  It listens at loopback addresses, unless there is a token. The token is not sent: the
//	    proof is an HMAC of the nonce by it, and is compared in constant time.
//	A2  It parses nothing but a hello. What follows goes to a process of its own, which may
//	    crash or hang without harm to the agent.
//	A3  Lines, connections and the time of a handshake are bounded.
//	A4  One run at a time: a controller's connections have the same run; others are refused
//	    until these are gone.
//	A5  The process ends with its connection, however that ends: told, or killed when it does
//	    not listen; a controller whose machine is gone is noticed by keep-alives.
//	A6  Controller and agent must have the same version; otherwise the agent refuses, and the
//	    controller's error says what to do.
//
// # CPUs and clocks
//
// A Placement says which CPUs the threads of client and server are pinned to, and its Sharing
// what else is to run there:
//
//	own          nothing: client and server have different CPUs
//	one          client and server have the same CPU
//	busy-client  own, and a busy process on each CPU of the client
//	busy-server  own, and one on each CPU of the server
//	busy-both    both
//	roaming      nothing is pinned, and one busy process is not either
//	quota=N%     own, and each may use N % of one CPU (quota-client, quota-server: one of them)
//
// Press starts the busy processes, which are helpers: peers that run Help. In one and busy-* the
// whole processes of client and server are kept on the CPUs to which otherwise only their threads
// are pinned, so that no thread evades its neighbour. For a quota Press moves the process, of the
// client this one, into a cgroup of its own, of the version that has the controller cpu.
//
//	L1  Busy processes die with this one, as all do (P1).
//	L2  Cgroups are removed by a helper, the guard, which knows of them before they are made and
//	    does so when its input ends. It is the only process that outlives this one, until the
//	    others have left the cgroups.
//	L3  Processes return to the cgroup in which they were.
//
// CPU times come from the kernel: those of this process and its threads in microseconds; those of
// another process, or of CPUs, in steps of 10 ms. The clock of a benchmark is the time-stamp
// counter. Clock says how fine it is and what a reading costs, ClockWatch whether it agrees with
// the clock of the system, and SpeedRange whether a CPU kept its speed, by timing a chain of
// multiplications each of which needs the result of the one before. Doubts are sentences to print
// beside the numbers.
package host
