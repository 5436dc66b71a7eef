// Package cachetest is what the tests of the cache share, whatever stands between
// a test and the cache: operations and how they ended (Call, Outcome), histories of
// concurrent operations and the proof that they are linearizable, random sequences
// that must have equal results everywhere, and processes that can be killed.
//
// It knows no client, server or fabric: a test brings an adapter (Cache) for the
// client that it tests.
//
// # Histories
//
// A history is the operations of any number of clients, each with the times
// between which it happened. It is linearizable if there is one order of all of
// them that keeps to these times and in which a map with versions (the model)
// would have answered the same. Keys do not depend on each other, so every key is
// checked alone.
//
// An operation may have no answer. It is Unavailable if it has certainly not
// happened: then the history goes without it, and a value that it would have
// stored must never be seen. It is Unknown if it may have happened, at any time
// after its start: so it has no end, and counts as never when it comes last in the
// order. What a killed process had begun and not ended is Unknown.
//
// # The model
//
// A key is there, with a value and a version, or not. A version that was given is
// larger than all that are known to have been given before to this key. Where the
// outcome does not tell the version (that of Incr may not, and Unknown never does)
// it becomes known with the next Get. Until then no program can know it, so a
// change under the condition of some version is refused.
//
// # Invariants
//
//	H1  Values that are stored are unique in a history, so that a Get tells which
//	    write it saw.
//	H2  The clock of a history is that of the machine, so that those of several
//	    processes can be put together.
//	H3  A process writes down that an operation begins before it begins, in a
//	    pipe that outlives it.
//	H4  The checker notices a cache that loses an acknowledged write, lets two
//	    changes under the condition of one version happen, or returns what was
//	    there before: the tests of this package have caches with these flaws.
//
// # Programs
//
// A program is a sequence of operations made from a seed. One client alone runs
// it, so its outcomes are the same on every engine, path and fabric, but for the
// numbers of versions. Renumber replaces them by their order within a key.
package cachetest
