// Package command is the wire format of operations on the cache: the procedures, and
// the bytes of their requests and results. It neither sends nor stores anything, so the
// client, the server and every path between them share it.
//
// All numbers are little-endian. Times to live are durations in milliseconds, so that clocks need not
// agree; a client that reads items by itself learns the server's time from hello and link.
//
// # Requests
//
//	get      | key |
//	put      | head 1 | key length 2 | [version 6] | [flags 4] | [ttl 8] | key | value |
//	delete   | head 1 | [version 6] | key |
//	touch    | ttl 8 | key |
//	incr     | delta 8 | key |
//	hello    | protocol 2 |
//	stats    | |
//	link     | key | hash 8 ... | number of hashes 1 |
//
// The hashes of link are those of keys whose items the client has read without the server.
//
// The head of put and delete has the condition in its two lowest bits, and a bit
// for each field in brackets that is present. A ttl of 0 means no expiry.
//
// # Results
//
// A result ends with its status, so that a value can be received directly into the
// caller's buffer, without bytes in front.
//
//	found    | value | [place 12] | [ttl 8] | [flags 4] | version 6 | status 1 |   get, link
//	stored   | version 6 | status 1 |                                   put
//	counted  | sum 8 | version 6 | status 1 |                           incr
//	done     | status 1 |                                               delete, touch
//	hello    | JSON of Hello | status 1 |
//	stats    | report 8 | status 1 |                                    a request that is empty
//	         | length 4 | piece of JSON | status 1 |                    report 8, core 4, offset 4
//	refused  | status 1 |
//
// The status has its code in the four lowest bits, then a bit for flags, one for ttl and
// one for a place, which every link that found its item in a frame has: where the item is in the
// memory that the server exports, as the offset in 5 bytes, the area in one, and the length in 2, which
// is 0 if clients cannot read it; then the lowest 32 bits of the server's time in milliseconds. A
// malformed request fails the call (rpc.CodeMalformed), since no client of ours sends one.
//
// # Invariants
//
//	C1  A request is read once, in order, and every length is checked against the
//	    bytes that are left. Parsing allocates nothing; keys and values alias the
//	    message.
//	C2  Parse returns what Append was given. A message that Parse accepts has exactly
//	    one encoding, except for optional fields that are present and zero.
package command
