// Package mailbox carries requests from a front door to a core, and their results back.
//
// # Terms
//
// A door is a goroutine that speaks a protocol with clients which are not those of a
// fabric: text, and whatever comes after it. A core owns a partition, and nobody else may
// touch that. A box is between one door and one core. The core serves it as a guest
// (rpc.Poller) beside its sessions, and a door has a box for every core.
//
// A letter is a place in the box: a request, and later its result. Letters are a ring;
// three numbers go round, each of which one side writes:
//
//	      taken            served            posted
//	        |                |                 |
//	--------+----------------+-----------------+---------
//	  free  | results, for   | requests, for   |  free
//	        | the door       | the core        |
//
// Requests and results are those of internal/command, as clients of a fabric send and
// get them: a core needs no other handler, and a door no other codec.
//
// # Invariants
//
//	M1  A letter belongs to the door until it is posted, to the core until it is served,
//	    and to the door again until it is taken and the next one is asked for.
//	M2  Results come in the order of the requests of the same box. Between boxes there is
//	    no order.
//	M3  No call takes a lock, and none allocates for messages of up to Keep bytes, once
//	    the ring has gone round. Longer ones have memory that is given back.
//	M4  A request that was posted is served though the core was about to sleep, and a
//	    result is noticed though the door was: each side says that it sleeps before it
//	    looks once more, and looks whether the other sleeps after it has given.
//	M5  Results that were not taken have at most Held bytes together, and that of one
//	    request more: then the core serves others first.
//
// # Threads
//
// Message, Post, Ready and Take are the door's; Step, Doze, Pending, Undoze, Queue, Reap
// and Close the core's. A Bell is rung by all cores and watched by its door.
package mailbox
