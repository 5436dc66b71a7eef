// Package trace reads operations of a cache from a file, line by line:
//
//	# comments and empty lines are skipped, and so is a first line that begins with "op,"
//	op,key,size,ttl
//	get,user:17,120
//	set,user:17,120,3600
//	del,user:17
//
// op is get, set or del; key 1 to 65535 bytes without spaces, control characters, commas and
// quotes; size the bytes of the value, which a set must have, and of a get what is stored
// after a miss; ttl whole seconds, 0 or nothing for no end. A name that ends in .gz is that
// of a packed file.
//
// # Rules
//
//	T1  A file is streamed: what is held of it is one buffer.
//	T2  Each of n readers has the lines whose key's hash leaves its number when divided by
//	    n: every line is done by exactly one of them, all of a key by the same, in the
//	    order of the file.
//	T3  A line that is not understood is an error that names file and line.
package trace
