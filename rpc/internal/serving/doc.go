// Package serving is the scaffold of a server, which all paths share: it accepts clients, runs
// cores that poll, and gives the memory of clients back. A path contributes its sessions
// and its moves.
//
//	Server    an acceptor, cores and a reaper; Config is what all servers need
//	Acceptor  listens, hands connection requests to the path, and refuses clients
//	Loop      a goroutine that polls, and the mail that others leave for it
//	Core      a loop that serves calls: its clock, its counts, its places for clients
//	Table     the sessions of a core, named in completions
//	List      those of them that a core polls, or that wait for something
//	Clients   counts of clients that came and went, and why
//	Reaper    frees what no core uses any more
//
// # The loop
//
// A path embeds Core and starts it with its Moves. Work polls until IdleSteps looks in a
// row found nothing, or one when the core shares its CPU with a client; then the waiter of the core
// decides whether to spin, to yield or to sleep. A
// core that a host drives (rpc.Poller) has no loop and no waiter: the host polls it, and is
// woken for it. Work is called once for many looks, so that the innermost loop of a path
// calls its own functions directly.
//
// A handler that panics fails its call and no other. Where calls are short, the functions that
// look at everything defer Catch, since a deferred function for each call (rpc.Protect) would be
// a good part of its time.
//
// A core looks for requests in every sweep. Every LookEvery sweeps it looks for what is
// rarer, every TickEvery at the clock, every ParkEvery for sessions to park: those that
// had no request for ParkAfter sweeps. That is counted in sweeps and not in time, because
// it bounds the work that a silent session costs, in proportion to that of waking it.
//
// # Threads
//
// The goroutine that drives a core owns its exported fields, its tables and its lists.
// Other goroutines reach a core by Post and Do alone. Acceptor, Clients and Reaper are
// for any goroutine.
package serving
