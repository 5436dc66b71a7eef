// Package arena is the only source of memory outside the Go heap.
//
// Tables, request slots and registered regions live outside the heap so that
// the collector does not scan them, their addresses never change and, where
// they are shared, another process can map them. All of it comes from an Arena,
// which knows for what each byte is used.
//
// There are four kinds of Block:
//
//	Alloc        private    zeroed pages of this process alone
//	AllocShared  shared     a sealed memory file, mapped here read-write; its
//	                        descriptor can be handed to another process
//	Map          foreign    a descriptor received from another process
//	Export       exported   registered memory, from the arena's source
//
// # Invariants
//
//	A1  A block is zeroed when it is handed out, starts at a page boundary and
//	    does not move.
//	A2  Bytes has length and capacity of exactly what was asked for.
//	A3  A shared file can never change its size: SHRINK, GROW and SEAL are set
//	    before the descriptor leaves this package. Map refuses a descriptor that
//	    does not prove this, because a peer that may truncate the file may kill
//	    us with SIGBUS at any load.
//	A4  With ReadOnlyForOthers only the mapping of the owner can ever write.
//	    FUTURE_WRITE is set after that mapping was made; from then on no holder
//	    of the descriptor can map it writable, make a mapping writable, write to
//	    it or punch a hole into it, the owner included.
//	A5  A private block is filled with Poison before its pages are given back, so
//	    that an adapter or a thread that still looks at them sees no plausible
//	    data. Pages that were never touched stay untouched.
//	A6  An Arena counts a block from the moment it is handed out until Free.
//
// # Ownership
//
// The slice of Bytes is valid until Free. Free with a user still reading is the
// caller's bug: a private block faults, a race build reads Poison. A block is
// freed once; a second Free panics. Blocks are not freed by the collector.
//
// In race builds private blocks are ordinary heap memory, because the race
// detector is blind on mapped memory: a clean race run over mapped pages proves
// nothing. Shared and foreign blocks are mapped in race builds too.
//
// All methods may be called from any goroutine; the content of a block is
// ordered by its users (see internal/fence).
package arena
