// Package kvl measures the gain of links: reads of single items and the three applications of
// the KELI paper, by links and by keys, on Remora and on memcached. It is the library behind
// `remora bench kvl`.
//
// # Terms
//
//   - An application says what is read: item (one item), match (from a position to a street),
//     page (a product with its reviews), search (breadth first, over followers).
//   - A path is how it reads: links (keli: a lookup, then READs), lookup (keli, by keys
//     alone; of application item), rfp (keys, through the cache), batch (the same, with half a
//     window in each frame; not of item), memcached (keys, over a socket). Of search there are
//     links-one, rfp-one and memcached-one, too: the same with one read at a time, as the
//     paper has it; and links-two, by two workers, of whom one is on the server's CPU: by keys
//     a search has both.
//   - An operation is one item, one position, one page, or one user that a search visits. The
//     latency of a search is its time divided by the number of visited users.
//
// # Rules
//
//	M1  All paths of an application have the same data, made by the same seed, and do the
//	    same operations. Their results are compared: a row is not written if one differs.
//	M2  The server is a process of its own, on a CPU of its own unless the placement says
//	    otherwise. Its data is loaded before anything is timed.
//	M3  Reads that do not depend on each other are in flight together, up to the window,
//	    on every path but those that say one.
//	M4  Trials of the paths are interleaved, so that noise hits all alike, in one placement
//	    after the other.
package kvl
