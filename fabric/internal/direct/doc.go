// Package direct is the software NIC of the providers whose peers can reach
// each other's memory by loads and stores: loop and shm. The poster's own
// thread executes a one-sided operation on the mapped memory of the target,
// so no CPU of the target takes part (G18). The two providers differ in where
// memory comes from, how a peer's region is mapped, and how a peer learns of the
// end: that is behind the Provider and Control interfaces.
//
// # Terms
//
//   - A segment is the memory that the two ends of a connection share: one
//     ring for each direction. A datagram sender shares a segment of one ring
//     with each queue pair that it sends to.
//   - A ring carries messages from one producer to one consumer. Beside its data
//     it has what the consumer tells the producer: how many receives it has posted
//     (credits) and how long they are.
//   - A Window is a region of the peer as this end has mapped it.
//   - A wake pipe ends the sleep of a completion queue's owner, who holds the
//     reading end; every peer that may have to wake it holds the writing end.
//   - A note is a message of another goroutine to the owner of a completion
//     queue: a queue pair joined, a peer is gone, a window is there.
//
// # The ring
//
//	offset  written by
//	   0    producer   tail: bytes ever produced
//	  64    consumer   head: bytes ever consumed
//	 128    consumer   posted: receives ever posted; armed: 0 awake,
//	                   1 asleep, 2 asleep for solicited messages only,
//	                   3 takes nothing any more; taker: where it runs
//	 192    producer   starved: 1 when asleep for space or credits; giver: where it
//	                   runs (affinity.Place)
//	 256    producer   counters of executed operations, by kind
//	 384    consumer   lens: length of posted receive i at i mod depth, u32
//	  ...   producer   the ring, a power of two
//
//	one entry, 16-byte aligned, wrapping at the end of the ring
//	+--------------+--------------+--------------+------+-------+-------+
//	| frag   u32   | total  u32   | imm / src u32| kind | flags | 0 u16 |
//	+--------------+--------------+--------------+------+-------+-------+
//	| frag bytes of payload, padded to 16                               |
//	+-------------------------------------------------------------------+
//
// # Invariants
//
//	I1  Each end keeps its own counters privately and only publishes them; it
//	    never reads back what it published. What it reads of the peer's is
//	    read once and checked: produced minus consumed is at most the ring,
//	    posted minus sent at most the depth, an entry lies within what was
//	    produced. A violation breaks the queue pair with StatusProtocol.
//	I2  A connected sender starts a message only for a posted receive, and
//	    checks its length against the published one; so a message in a ring
//	    of RC or UC always has its receive, and a receiver without posted
//	    receives need not look at the ring.
//	I3  An entry is written before the tail that covers it is published; a
//	    receive and its length before the count. Publishing is a store with a
//	    full fence, and only then does the publisher look whether the other
//	    side sleeps; the sleeper says that it sleeps, fence, then looks again.
//	    So one of the two sees the other (G17).
//	I4  Everything of a queue pair except its state, its counters and its
//	    notes is touched by the owner alone (T1).
//	I5  A completion queue has room for every request and receive of its queue
//	    pairs, so a completion is never dropped (G12).
//	I6  Requests execute in Post when nothing is before them. One that cannot
//	    (no credit, no space, window not mapped yet) is copied into the
//	    backlog of its queue pair, and so is everything behind it (G1).
//
// # Why not otherwise
//
// A futex would wake faster than a pipe. But a futex word must be writable by
// every peer that may wake the sleeper, and a hostile peer could requeue or
// restore it and so keep the wake-ups of others from arriving. The writing
// end of a pipe can do nothing but wake.
//
// Receives are not filled by the sender, though that would save a copy: the
// sender would have to map the memory of the receiver.
package direct
