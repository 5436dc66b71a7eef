// Package wire is the format of the frames in which the paths of rpc move
// messages: bytes and tables, usable without fabric or engine. docs/protocol.md
// describes the same without Go.
//
// # Terms
//
//   - A message is what a program sends: a request or a result, of any length.
//   - An entry is a message, or a part of one, behind its size.
//   - A frame is a header, entries one after the other (its payload), and a tail.
//     It lies in a slot of a ring and travels by one WRITE or one READ.
//   - Frames prove themselves if a device of one of the ends does not promise
//     order (fabric.Limits.InOrder), which the greetings settle.
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
//	tail    Tail(number): says that all bytes before it have arrived. Where frames
//	        prove themselves it is a Proof: the upper half of that, and below 32 bits
//	        of XXH3-64 of word 1 and the entries, with word 0 as the seed
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
//	tail    as above. Where frames do not prove themselves, only a frame that is
//	        pushed has one: a READ looks at word 0 first, which was written last
//	        and vouches for the rest, but a WRITE brings the beginning first. Where
//	        they do, the hash is that of the entries
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
//	0      4      8       12      16
//	+------+------+-------+-------+-------+
//	| at   | size | total | flags | sum   |    bit 0 of flags: more pieces follow
//	+------+------+-------+-------+-------+
//
// The sum is the CRC-32C of the bytes of a piece of a request where frames prove themselves,
// otherwise 0. A piece of a result needs none: it is READ when its frame has come.
//
// In a result frame it can also be an Area: where the bulk area of a direction lies,
// which the server has made because it was needed for the first time.
//
//	0             8       12      16
//	+-------------+-------+-------+-------+
//	| address     | key   | flags | 0     |    bit 1 of flags: for requests, bit 2: for results
//	+-------------+-------+-------+-------+
//
// # Invariants
//
//	W1  Numbers of frames count from 1, so that zeroed memory is no frame.
//	W2  A slot holds the frame that is expected, or that of the lap before, or
//	    one of which not all bytes have arrived. Sequences of these differ, so a stale frame is
//	    never taken for a new one.
//	W3  The writer fills a frame from lower to higher addresses, and word 0 of
//	    a result last. Where there is order, a server that sees the tail of a request
//	    sees all of it, and a client that has word 0 of a result has all of it.
//	    Where there is none, bytes of a frame may be older than others: it is
//	    there when its tail fits. Word 0 alone is never torn.
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
// The sum has 32 bits, so one torn frame in four billion passes. A frame is torn for
// nanoseconds, and seldom looked at then. Adapters protect what is on the wire no better. XXH3 takes
// half of the time of a CRC-32C for short frames, and a word as its seed. Pieces are long
// and gathered from two places, and a CRC can be continued.
//
// All numbers are little-endian; words are aligned to 8 bytes.
package wire
