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
//	shuffle  rc uc        rate duration         lines of 64 bytes of a READ or WRITE are
//	                                            read or placed in any order, over a time
//	replay   rc           rate duration         a READ is executed again after a time,
//	                                            and the later result wins
//	part     uc           rate                  of a WRITE longer than the MTU only the
//	                                            first packets, or none, are placed
//	refuse   dial accept  rate                  the attempt fails: ErrRefused
//
// A rate is a percentage ("0.5%"); without one the fault always strikes, where
// it may. A duration is Go's ("1ms"); that of reorder (100us) is how long the
// message waits to be overtaken, and that of shuffle and replay (10us) bounds the time. A status is lost (the default), rnr or access;
// one that makes no sense for an operation becomes lost. A datagram queue pair,
// which has no peer that could be the reason, breaks with flushed. burst=N makes
// drops come N in a row; the rate is still the share of messages that is lost
// over a long time.
//
// An operation is a work request that Post accepted; op counts those of a
// queue pair from 0 (for refuse, the attempts of the device), qp counts the
// queue pairs of a device in the order in which they were made (their index).
// At most one fault strikes an operation: that of the first rule that hits.
//
// Device.Cut cuts what a device sends and breaks its RC queue pairs; Dial and
// Accept fail. What others send to it arrives: a WRITE needs no receive.
//
// # Invariants
//
//	F1  Replay. Whether and how an operation is struck by a plan depends on the
//	    seed, the index of its queue pair, its number there and the kinds of
//	    the operations up to it, and on nothing else: not on time, not on
//	    other queue pairs, not on what the peer does. Cut is not part of it.
//	F2  Order. Completions of one queue pair come in the order of its posts,
//	    struck or not (G1); what a fault changes is the order of arrival.
//	F3  A dropped, delayed, reordered or duplicated request completes with
//	    success, as on hardware, which has done its part when the message is
//	    on the wire. Its memory is the program's again.
//	F4  Places. A request occupies its place in the send queue until its
//	    completion, or that of a later signaled one, is polled by the program
//	    (G10), exactly as many as SendDepth says (G12).
//	F5  What is not struck is passed on unchanged, and nothing is allocated for
//	    it.
//	F6  A device whose plan has shuffle or replay promises no order
//	    (Limits.InOrder), and keeps the contract of such a device: a WRITE is
//	    whole before it completes on RC, before a SEND, WRITE_IMM, READ or atomic behind
//	    it and before another WRITE to the same place (G2, G3, G4), and no aligned
//	    word is torn (G5). But runs of lines are counted as requests (G15), and of
//	    a WRITE that the peer refuses, those inside its region may be placed (G7).
//
// # How
//
// The wrapper has a ring of the outstanding requests of each queue pair, and
// posts every request to the inner device as signaled. So it knows of each one
// when it is complete, keeps struck requests in their place between the
// others, and reports those completions that the program asked for.
//
// A delayed, reordered or duplicated message is copied into memory of the
// wrapper, up to an MTU, and the copy is sent when its time has come; queues of
// the inner device are larger by the places of copies. A delayed datagram is alone
// late. A delay on UC holds up everything behind it on its queue pair, like a
// paused link; reorder, which is for fabrics that spray packets, breaks G1 on
// purpose. A message for which there is no room, or which is too long, is not held.
// Held messages are moved on by their owner: in Post, in Poll of either completion
// queue and in Wait, which wakes in time. What is held when the queue pair breaks,
// or its destination is closed, is lost.
//
// When a request breaks its queue pair, those before it complete as they will and
// those behind it are flushed. The inner queue pair is disconnected, so the peer
// sees ErrDisconnected, not ErrPeerLost: the contract has no way to make a
// peer believe that we died.
//
// Of a WRITE that is shuffled, some runs of lines are placed at once and the whole later. Of a
// READ, the whole is read at once and some runs of lines, or for a replay the whole, again later.
// So any line can be older or newer than any other. A WRITE longer than an MTU is not
// copied: its memory is the program's again when it completes, as G14 has it. An operation in
// several segments that would have to be copied, and one for which there is no room, passes.
//
// Counters are those of the inner device, which sees no message that was dropped,
// and takes a copy for one of the program's.
//
// Everything made from a wrapped device is wrapped and must not be mixed with
// objects of the inner one. No goroutines are started and only the device's
// Clock is looked at, so the wrapper works in virtual time.
//
// Faults are decided where a message is posted and not where it arrives: the
// receiver of a WRITE takes no part in it. They are decided by hashing numbers
// rather than by drawing from one generator, where the order in which goroutines
// post would be part of the result.
package faults
