// Package fence names the orderings that Remora needs on memory shared between
// threads, processes and peers, and is the only place that implements them.
//
// # What is ordered against what
//
// Three parties touch shared memory: goroutines of this process, threads of
// another process that maps the same pages, and, on real hardware, a network
// adapter. The first two are CPUs. An adapter reads and writes memory when a peer
// asks for it, without a CPU, so the functions that are used on registered memory
// also order against it (F8). What a work request names is ordered by the provider
// that rings the doorbell, and what a completion reports by the library that polls
// it (libibverbs).
//
//   - x86 is TSO: a CPU's stores become visible in program order (but for those of
//     CopyPast), and its loads happen in program order. The one thing the hardware
//     reorders is a store with a *later load* of another address: the store may
//     still sit in the store buffer. So a plain MOV is already a release store and a
//     plain MOV load already an acquire load; only "publish, then look" needs a
//     locked instruction.
//     Go's atomic Store is an XCHG and pays for that case every time, about
//     twenty cycles. Publish does not, Announce does.
//   - arm64 orders nothing by itself. STLR orders all earlier accesses before
//     the store, LDAR orders the load before all later accesses, and Go's
//     atomic Store and Load are exactly these. STLR followed by LDAR is kept in
//     order too, so between CPUs Publish and Announce are the same instruction.
//   - An adapter on amd64 reads and writes through the caches of the CPUs: it sees
//     stores in the order in which they become visible to CPUs, and its own become
//     visible to them in the order in which it makes them. So it is one more
//     observer of TSO, and a barrier for the compiler is enough; Linux has no more
//     (dma_wmb and dma_rmb). The LFENCE of rdma-core after a completion orders
//     loads from write-combining memory, of which there is none here; the only stores
//     that are not TSO are those of CopyPast.
//   - An adapter on arm64 is in the outer shareable domain. Linux maps memory as inner
//     shareable, so STLR and LDAR order for the CPUs that run it. For adapters, Linux
//     and rdma-core use DMB OSHST (dma_wmb, udma_to_device_barrier) and DMB OSHLD
//     (dma_rmb, udma_from_device_barrier). So does this package, beside STLR and
//     LDAR: DMB OSHST before a store that publishes, DMB OSHLD after a load that
//     observes, and DMB OSH after an announcement.
//   - Other CPUs get sync/atomic, which orders CPUs. Towards an adapter nothing
//     is ordered there.
//   - The Go compiler keeps memory operations on one chain, but it may remove a
//     store that a later store in the same block covers, merge neighbouring
//     stores or loads into a wide one, and reuse a value it has loaded before.
//     Each of these would break a plain MOV used as a release or acquire: the
//     "odd" half of a sequence lock would vanish. Plain accesses here are
//     therefore bracketed by compilerBarrier, which costs no instruction.
//   - The race detector knows only what goes through sync/atomic, and it keeps
//     its clocks by address: a release on the 8-byte word at X and an acquire on
//     the 4-byte word at X+4 do not meet. In race builds every function here
//     goes through sync/atomic, and an 8-byte access also synchronises on its
//     upper half, so that any mixture of the functions below over the same bytes
//     is a happens-before edge. The detector is blind on memory outside the Go
//     heap (see internal/arena, which hands out heap memory in race builds).
//
// # Which function
//
//	the data is complete, let the other side see it      Publish64, PublishByte
//	has the other side published?                        Observe64, ObserveByte
//	publish, then look whether the other side sleeps     Announce64, then Observe
//	32 bits, in memory that no adapter accesses          Publish32, Announce32
//	a statistic with one writer                          Count, read with Load
//	bytes into memory that a peer reads meanwhile        CopyOut
//	bytes out of memory that a peer writes meanwhile     CopyIn
//	many bytes that are not read yet                     CopyAcross, then Publish
//	bytes into memory that is not read soon              CopyPast, then Drain
//	nothing to do, be kind to the sibling thread         Pause, PauseN
//	a line will be needed soon                           ExpectRead, ExpectWrite
//	a line will be needed soon, once                     ExpectOnce
//	a word in the middle of shared memory                Word
//
// # Invariants
//
//	F1  All that a thread did before Publish(p, v) is visible to a thread that
//	    has seen v by Observe(p).
//	F2  Announce(p, v) followed by Observe(q) on one side and Announce(q, w)
//	    followed by Observe(p) on the other: at least one side sees the other's
//	    value (Dekker). Publish does not give this.
//	F3  CopyOut makes bytes visible in ascending address order, whole 8-byte
//	    aligned words of the destination at once, the last byte last. A reader
//	    that observes a byte sees all bytes before it. On amd64, copies of 256
//	    bytes and more make stores of 32 bytes; that bytes inside of one are
//	    in order is how CPUs are made, and in no manual. The last word, or
//	    what of it is copied, is therefore stored by itself after all others:
//	    a reader that sees it sees all of the copy, by the manual.
//	F4  CopyIn loads in ascending address order, whole 8-byte aligned words of
//	    the source at once. What it read of byte i is not newer than what it read
//	    of byte i+1; accesses after CopyIn happen after its loads. As in F3, the
//	    first word is loaded by itself before all others.
//	F5  A word that a copy covers only in part, at its ragged ends, is accessed in
//	    pieces of 4, 2 or 1 bytes, in ascending order and never outside the
//	    slice. Race builds are the exception: there the containing aligned
//	    4-byte word is read, or compared and swapped, so its other bytes must
//	    belong to shared memory as well.
//	F6  CopyPast makes bytes visible in any order, and is ordered neither against what
//	    was before nor against what follows, unless Drain is between: all that was
//	    stored before Drain is visible to a thread that has seen what was stored
//	    after it.
//	F7  CopyAcross makes bytes visible in any order. All of them are visible to a
//	    thread that has seen what was published afterwards (F1).
//	F8  F1, F2 and F6 also hold between a thread and an adapter, but for Publish32,
//	    Announce32 and Count. F3 holds in part: what was stored before
//	    CopyOut is visible before its first byte, and the rest of the copy
//	    before its last word, or its last byte if it ends inside of a word.
//	    F4 holds in part: accesses after CopyIn happen after its loads.
//
// F4 looks weaker than F3 and is not meant to be used alone: a record that can
// change while it is read carries a version or a checksum.
//
// A function that panics here was called wrongly by this program; what a peer
// does to the memory can never make one panic.
//
// # What tests show
//
// The hammers of this package run two goroutines over the same bytes, on the CPU at
// hand. Other tests stop a copy at a page fault, and see in which order it accesses
// memory. Under an emulator of arm64 on amd64 (make test-arm64) they show that the
// code is right for arm64 and has the barriers it should, not what a CPU makes of it:
// the emulated accesses are those of the host, which are TSO. No test here has an
// adapter beside an arm64 CPU.
package fence
