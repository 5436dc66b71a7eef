// Package faults makes a network bad on purpose. It wraps any fabric.Device
// and is one itself, so everything above the fabric can be run over loss,
// delay, broken connections and slow peers, by a plan that can be printed and
// run again.
//
//	plan, err := faults.ParsePlan("seed=42; ud.drop=1%; rc.break=lost@op=1000")
//	dev := faults.Wrap(inner, plan)
//	...
//	if t.Failed() { t.Log(dev.Schedule()) }
//
// # Terms
//
//   - A Plan is a seed and a list of rules. A Rule is a fault, the queue pairs
//     and operations that it is for, and how often it strikes.
//   - An operation is a work request that Post accepted; the operations of a
//     queue pair are numbered from 0. The queue pairs of a device are numbered
//     from 0 in the order in which they were made (their index).
//   - An operation is struck when a rule, or a cut, hits it. At most one fault
//     strikes an operation: that of the first rule of the plan that hits.
//   - A message is held when it has been taken by Post and not yet been given
//     to the inner device.
//
// # The plan in text
//
//	plan   = item { ";" item }
//	item   = "seed=" NUMBER | rule
//	rule   = [ on "." ] fault [ "=" arg { "," arg } ] [ "@" where { "," where } ]
//	on     = transports [ "." verbs ] | "dial" | "accept"
//	transports = ("rc" | "uc" | "ud") { "+" ... }
//	verbs  = ("send" | "write" | "write_imm" | "read" | "fetch_add" | "cmp_swap") { "+" ... }
//	arg    = RATE | DURATION | STATUS | "burst=" NUMBER | "by=" NUMBER
//	where  = "op=" span | "qp=" span
//	span   = NUMBER | NUMBER ".." [ NUMBER ]
//
// A RATE is a percentage with at most four digits after the point ("0.5%").
// Without one the fault always strikes, where it may. A DURATION is Go's
// ("1ms"). A span a..b holds a and not b; a.. has no end. A rule without
// transports is for all that the fault allows. Blanks around items do not
// matter.
//
//	fault    on           arguments            what happens
//	drop     uc ud        RATE burst           the message vanishes
//	delay    uc ud        RATE DURATION        the message is late
//	dup      ud           RATE [DURATION]      a second copy arrives (later)
//	reorder  uc ud        RATE by [DURATION]   the next "by" messages overtake it
//	break    rc uc ud     RATE STATUS          the request fails, unexecuted, and
//	                                           the queue pair breaks
//	lose     rc           RATE                 the request is executed; then the
//	                                           peer is lost before it says so
//	cut      rc uc ud                          UC and UD messages in the span
//	                                           vanish, RC breaks with "lost"
//	slow     (the device) DURATION             each completion is reported late
//	refuse   dial accept  RATE                 the attempt fails: ErrRefused
//
// STATUS is lost (the default), rnr, access, invalid or protocol. rnr on an
// operation that needs no receive and access on one that names no memory would
// be nonsense and become lost; a datagram queue pair has no peer that could be the
// reason and breaks with flushed. burst=n makes drops come n in a row; the rate is
// still the share of messages that is lost over a long time. by defaults to 1;
// the DURATION of reorder (100us) is how long the message waits to be
// overtaken. For refuse, @op counts the attempts of the device.
//
//	seed=42; ud.drop=1%; uc.write.drop=10%,burst=5; ud.dup=2%,1ms; ud.reorder=5%,by=3;
//	ud.delay=3%,1ms; rc.break=lost@qp=0,op=1000; cut@op=500..800; slow=20us; dial.refuse=10%
//
// # Invariants
//
//	F1  Replay. Whether and how an operation is struck by a plan depends on the
//	    seed, the index of its queue pair, its number there and the kinds of
//	    the operations up to it, and on nothing else: not on time, not on
//	    other queue pairs, not on what the peer does. Programs that make queue
//	    pairs in the same order and post the same kinds of operations to each
//	    get the same Schedule.
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
// in use a message goes out unharmed and is counted in Stats.Rushed.
//
// UC: messages can be large, so a delayed one stays in the memory of the
// program and its completion waits until it was really sent; inline data is
// copied. A delay holds up everything behind it on its queue pair, like a
// paused link, and so keeps the order of arrival; reorder changes it. UC on
// hardware never duplicates: nobody retransmits, and nothing on the one path
// of a connection makes copies. So uc.dup is an error; datagrams may cross any
// network (those of the tcp fabric are UDP) and can be duplicated. Hardware
// does not reorder UC on one path either; uc.reorder is for fabrics that spray
// packets, breaks G1 on purpose and happens only when a plan names it.
//
// RC hides all of these by retransmission, so rc.drop, rc.delay, rc.dup and
// rc.reorder are errors. What an RC user sees of a bad network is time and
// broken connections: slow, break, lose, cut.
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
// a link that is cut in one direction. A cut in the plan is by operation
// number; Cut and Heal take effect when they are called, so their place in the
// schedule is not part of F1.
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
// As the contract says (T1 to T4). Held messages and late completions are
// moved on by their owner: in Post, in Poll of either completion queue of the
// queue pair and in Wait of a waiter over one of them, which wakes in time. An
// owner that stops polling stops them. What is held when a queue pair is
// closed is lost. Cut, Heal, Schedule and Stats may be called from any
// goroutine. No goroutines are started and only the device's Clock is looked
// at, so the wrapper works in virtual time.
//
// # Why not otherwise
//
// Faults are decided where a message is posted and not where it arrives: the
// receiver of a WRITE takes no part in it, and the number of an operation is
// known at its sender alone. They are decided by hashing numbers rather than
// by drawing from one generator: with a generator the order in which
// goroutines post would be part of the result.
package faults
