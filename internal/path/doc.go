// Package path is how a client of the cache reaches the cores of a server. The root package
// decides what to send, what a result means and whether to send it again; this package decides
// by which connection a message travels and in which order results come back, and makes lost
// connections anew.
//
// A path has a name (Name), which users write in an address or an option. Every path uses a
// connection of rfp, and some add a second connection:
//
//	rfp, fetch, reply      rfp alone: results fetched, pushed, or either (package rfp)
//	herd, sendrecv         a connection for small messages; rfp carries the long ones
//	onesided, onesided-faa, farm, farm-var
//	                       a one-sided reader finds items; rfp carries everything else
//	pilaf                  a one-sided reader, and sendrecv for small changes
//
// With links (Config.Links) the paths of the first row have a one-sided reader as well, which
// follows links to items that were got before.
//
// # Terms
//
//	Conn             the connection with one core, with all that its path needs
//	Shared           a Conn for any number of goroutines
//	Conns            the connections of a client, in a connection set (Set)
//	Route            a client's way to one core, with its outages
//	Dialer           makes connections with the cores of one server
//	small connection a connection of herd or sendrecv, for messages that fit one packet
//	reader           the one-sided reader: gets items by READs of exported memory
//	link             where an item is in exported memory, and its version
//	link policy      decides for a connection whether following links pays
//
// # Files
//
//	paths.go config.go     the table of paths, and what a caller can choose
//	dial.go                connecting, greeting, several cores at once
//	conns.go route.go      Conns: connection sets, outages and their end
//	conn.go order.go       Conn: messages by rfp and by small connections
//	shared.go counters.go  Conn for many goroutines; open connections and what they have done
//	small.go               herd and sendrecv
//	conn_read.go reader.go server_time.go
//	                       Conn: gets by the reader, the reader itself, and its estimate of the server's time
//	link_cache.go link_policy.go uses.go follow.go
//	                       links: remembered, judged, reported to the server, followed
//
// # Invariants
//
//	P1  Results of one Conn come in the order in which operations were sent, whatever
//	    connection carries them: an operation that takes another connection than those
//	    before it is sent when they have their results. While the server has operations in
//	    flight, a get that has a link goes by rfp instead of waiting.
//	P2  A get that is repeated by rfp, because its result does not fit a small connection,
//	    keeps its place among the results. Until it has its result nothing is sent by
//	    another connection than rfp, and no change of its key was sent before it (Config.InOrder).
//	P3  What the reader returns was proven by key, version and checksum. Whatever it cannot
//	    prove the server is asked for, and also for items that may have expired by the latest time that
//	    the server's clock can show (serverTime).
//	P4  A Conn whose link policy found that its reader is lost goes on without one. Without
//	    a link policy a lost reader is a lost connection.
//	P5  A connection set belongs to one start of a server: its seed, its number of cores, a
//	    route to each. It does not change; Conns replaces it when the server was restarted.
//	    An operation uses one set.
//	P6  A route either has a connection, or exactly one goroutine that makes one and an
//	    outage that operations can wait for, or was ended with its set.
//	P7  The first operation that finds a connection lost takes it out of its route. The
//	    goroutine that makes the next one closes it.
//
// # Threads
//
// A Conn belongs to one goroutine at a time, except for Wake and Disconnect. Shared and Conns
// are for any number of goroutines. The hot calls (SendKey, NextPlain) are methods of a concrete type:
// there is no interface between a session and rfp.
//
// # Why the client links every engine's finder
//
// An engine brings its finder: the code that a client needs to read the engine's memory. Readers
// look it up by the engine's name, which the server says at run time. The linker keeps the
// finders and drops the engines around them, so that they add about a hundredth to a client. A
// registry that lets programs choose would cost more than it saves.
package path
