// Package wire is the format of the frames in which the paths of rpc move
// messages: bytes and tables, usable without fabric or engine. docs/protocol.md
// describes the same without Go.
//
// # Terms
//
//   - A message is what a program sends: a request or a result, of any length.
//   - An entry is a message, or a part of one, behind its size.
//   - A frame is a header, entries one after the other (its payload), and for
//     requests a tail. It lies in a slot of a ring and travels by one WRITE or
//     one READ.
//   - A batch is a request frame with more than one entry. Its results come back
//     in the order of its entries, in one or more result frames: its answer.
//
// # Request frame
//
//	0        8         16                        16 + size, up to 8
//	+--------+---------+------------------------+------+
//	| word 0 | word 1  | entries                | tail |
//	+--------+---------+------------------------+------+
//
//	word 0  bit 0       status: 1
//	        bits 1-31   size of the payload
//	        bits 32-47  auxiliary: the batch size that the client works with
//	        bits 48-63  sequence: low bits of the frame's number
//	word 1  bits 0-31   result frames that the client has taken
//	        bits 32-39  class: selects the mode in which the answer returns
//	        bits 40-47  flags
//	        bits 48-63  entries that are the end of a message
//	tail    Tail(number): says that all bytes before it have arrived
//
// # Result frame
//
//	0        8                         8 + size, up to 8
//	+--------+-------------------------+------+
//	| word 0 | entries                 | tail |
//	+--------+-------------------------+------+
//
//	word 0  as above; auxiliary: bit 15 set on the last frame of an answer, bits
//	        0-14 the time that the server took, in units of TimeUnit, 0 when it
//	        was not measured
//	tail    as above; only in a frame that is pushed: READ takes a frame from
//	        its beginning, so that word 0 vouches for the rest, but a WRITE
//	        brings the beginning first
//
// Status 0 with the next sequence and the size ParkedSize says that the server
// does not look at the request slots: see package rfp.
//
// # Entry
//
//	0        4
//	+--------+---------+
//	| size   | bytes   |    bits 0-29 size, bit 30 more of this message follows,
//	+--------+---------+    bit 31 the message is a failure
//
// A failure is a code (16 bits) and a text. With both bits set the entry is a
// Piece: the bytes lie in the bulk area of its direction.
//
//	0      4      8       12
//	+------+------+-------+-------+
//	| at   | size | total | flags |    bit 0 of flags: more pieces follow
//	+------+------+-------+-------+
//
// In a result frame it can also be an Area: where the bulk area of a direction lies,
// which the server has made because it was needed for the first time.
//
//	0             8       12
//	+-------------+-------+-------+
//	| address     | key   | flags |    bit 1 of flags: for requests, bit 2: for results
//	+-------------+-------+-------+
//
// # Invariants
//
//	W1  Numbers of frames count from 1, so that zeroed memory is no frame.
//	W2  A slot holds the frame that is expected, or that of the lap before, or
//	    one of which not all bytes have arrived. Sequences of these differ, so a stale frame is
//	    never taken for a new one.
//	W3  The writer fills a frame from lower to higher addresses, and word 0 of
//	    a result last. A server that sees the tail of a request sees all of it; a
//	    client that reads word 0 of a result before its entries has all of them.
//	W4  What is decoded was copied from the peer's memory before, once. No
//	    decoder trusts a size: every one is compared with what is there.
//
// # Why not otherwise
//
// The papers clear a request when it was served, so that status and tail of the
// next one can be seen to change. The sequence makes that needless, and with it
// a write to a cache line that the other side wants next; the tail is a word
// that depends on the number instead of a bit, because the place where it comes
// to lie holds bytes of an earlier request.
//
// All numbers are little-endian; words are aligned to 8 bytes.
package wire
