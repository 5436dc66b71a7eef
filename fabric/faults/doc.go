// Package faults makes a network bad on purpose. It wraps any fabric.Device
// and is one itself, so everything above the fabric can be run over loss,
// delay and broken connections, by a plan that can be run again.
//
//	plan, err := faults.ParsePlan("seed=42; ud.drop=1%; rc.break=lost@op=1000")
//	dev := faults.Wrap(inner, plan)
//	...
//	if t.Failed() { t.Log(dev.Struck()) }
//
// # Plans
//
// A plan is a seed and a list of rules, separated by semicolons. A rule is a
// fault, the operations that it is for, and how often it strikes.
//
//	rule  = transport "." [ verb "." ] fault [ "=" args ] [ "@" where ]
//	      | ( "dial.refuse" | "accept.refuse" ) [ "=" args ] [ "@" where ]
//	where = op=N or qp=N or both, separated by a comma; N is 5, 5..8 (without 8) or 5..
//
//	fault    on           arguments             what happens
//	drop     uc ud        rate burst=N          the message vanishes
//	delay    uc ud        rate duration         the message is late
//	dup      ud           rate [duration]       a second copy arrives (later)
//	reorder  uc ud        rate by=N [duration]  the next N messages overtake it
//	break    rc uc ud     rate status           the request fails, unexecuted, and
//	                                            the queue pair breaks
//	lose     rc           rate                  the request is executed; then the
//	                                            peer is lost before it says so
//	refuse   dial accept  rate                  the attempt fails: ErrRefused
//
// A rate is a percentage ("0.5%"); without one the fault always strikes, where
// it may. A duration is Go's ("1ms"); that of reorder (100us) is how long the
// message waits to be overtaken. A status is lost (the default), rnr, access,
// invalid or protocol. A status that makes no sense for an operation becomes
// lost; a datagram queue pair, which has no peer that could be the reason,
// breaks with flushed. burst=N makes drops come N in a row; the rate is still
// the share of messages that is lost over a long time.
//
// An operation is a work request that Post accepted; op counts those of a
// queue pair from 0 (for refuse, the attempts of the device), qp counts the
// queue pairs of a device in the order in which they were made (their index).
// At most one fault strikes an operation: that of the first rule that hits.
//
// # Invariants
//
//	F1  Replay. Whether and how an operation is struck by a plan depends on the
//	    seed, the index of its queue pair, its number there and the kinds of
//	    the operations up to it, and on nothing else: not on time, not on
//	    other queue pairs, not on what the peer does. Programs that make queue
//	    pairs in the same order and post the same kinds of operations to each
//	    see the same operations struck.
//	F2  Order. Completions of one queue pair come in the order of its posts,
//	    struck or not (G1); what a fault changes is the order of arrival.
//	F3  A dropped, delayed, reordered or duplicated request completes with
//	    success, as on hardware, which has done its part when the message is
//	    on the wire.
//	F4  Places. A request occupies its place in the send queue until its
//	    completion, or that of a later signaled one, is polled by the program
//	    (G10), exactly as many as SendDepth says (G12).
//	F5  Memory. Local memory of a request is not looked at after its completion
//	    was reported, nor after Post if it is inline (G14). Held messages are
//	    therefore copied or their completion waits; see below.
//	F6  What is not struck is passed on unchanged, and nothing is allocated for
//	    it.
//
// # How
//
// The wrapper has a ring of the outstanding requests of each queue pair, and
// posts every request to the inner device as signaled. So it knows of each one
// when it is complete, keeps struck requests in their place between the
// others, and reports those completions that the program asked for.
//
// UD: a delayed, reordered or duplicated datagram is copied into memory of the
// wrapper and completes at once; the copy is sent when its time has come. It
// is alone late: those behind it overtake it. Copies need places of their own
// in the inner send queue, so with such a plan datagram queue pairs and
// completion queues are made twice as large underneath. When all copies are
// in use a message goes out unharmed.
//
// UC: messages can be large, so a delayed one stays in the memory of the
// program and its completion waits until it was really sent; inline data is
// copied. A delay holds up everything behind it on its queue pair, like a
// paused link, and so keeps the order of arrival; reorder changes it, except
// behind a delayed message. UC on hardware never duplicates: nobody
// retransmits, and nothing on the one path of a connection makes copies.
// Datagrams may cross any network (those of the tcp fabric are UDP) and can be
// duplicated. Hardware does not reorder UC on one path either; uc.reorder is
// for fabrics that spray packets, and breaks G1 on purpose.
//
// RC hides all of these by retransmission. What an RC user sees of a bad
// network is time and broken connections: break, lose, Cut.
//
// Break: the requests before the struck one complete as they will, the struck
// one fails with its status, those behind it are flushed without having been
// executed. The inner queue pair is disconnected, so receives are flushed too
// and the peer breaks. The peer sees ErrDisconnected, not ErrPeerLost: through
// the contract nobody can make a peer believe that we died.
//
// Cut: Device.Cut cuts what this device sends and breaks its RC queue pairs;
// Dial and Accept fail. What others send to it arrives: a WRITE needs nobody's
// consent. Cut the devices at both ends to cut both directions, or one to have
// a link that is cut in one direction. Cut and Heal take effect when they are
// called, so what they strike is not part of F1.
//
// # Objects
//
// Everything made from a wrapped device is wrapped and must not be mixed with
// objects of the inner one. A region is made by the inner domain; the program
// gets a second Region over the same memory, address and key, whose Domain is
// the wrapped domain, because a region must be of the domain it was allocated
// in. Post turns segments back into those of the inner region.
//
// # Threads
//
// As the contract says (T1 to T4). Held messages are moved on by their owner:
// in Post, in Poll of either completion queue of the queue pair and in Wait of
// a waiter over one of them, which wakes in time. An owner that stops polling
// stops them. What is held when a queue pair is closed is lost. Cut, Heal and
// Struck may be called from any goroutine. No goroutines are started and only
// the device's Clock is looked at, so the wrapper works in virtual time.
//
// # Why not otherwise
//
// Faults are decided where a message is posted and not where it arrives: the
// receiver of a WRITE takes no part in it, and the number of an operation is
// known at its sender alone. They are decided by hashing numbers rather than
// by drawing from one generator: with a generator the order in which
// goroutines post would be part of the result.
package faults
