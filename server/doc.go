// Package server is the cache as a server: partitions of a store, each owned by
// one core, reached over any number of fabrics at once.
//
// # Terms
//
// A core is one thread that owns one partition and the sessions of the clients
// that are connected to it (EREW). A client is connected to every core and sends
// each request to the one that owns its key, which it computes from the seed that
// hello tells it. Requests come by the path rfp, or by herd or sendrecv, whose cores are
// polled by those of rfp: the same goroutine serves all. Clients without a library come in
// by text listeners (package text), which hand their requests to the cores. The instance is a random number
// that tells this start of the server from any other.
//
// The partitions of one engine, shared-lru, are handles of one table. Keys still belong to
// cores, so that nothing changes for clients.
//
// # Invariants
//
//	V1  A partition, or handle, is touched by the goroutine of its core only, in handlers.
//	    Statistics are gathered by a goroutine of their own, for which each core copies its counters
//	    (rfp.Server.Do).
//	V2  The server computes every hash itself. A key that belongs to another core
//	    is refused (WrongCore), so no client can make a key exist twice.
//	V3  What was answered with OK has happened, and what was answered with anything
//	    else has not. While the server drains it answers Draining and changes
//	    nothing, so that clients know what became of their last requests. Before it refuses the
//	    first, no client can read its memory any more: writes that a successor takes are
//	    never hidden by old items.
//	V4  A handler allocates nothing for requests and results that fit a frame.
//	V5  Keys and values appear in no log.
//
// # Time
//
// Handlers take the time from the core (rpc.Call.Now): the fabric's clock, a few
// microseconds old. The wall clock is read once, at the start, to make it
// milliseconds since the epoch; so an adjustment of the machine's clock neither
// expires nor revives anything. Clients that read items by themselves are told the clock's time at the moment
// of the answer (hello, link): later than what any handler has gone by.
//
// # Threads
//
// Start returns when the server listens. Everything else may be called from any
// goroutine.
package server
