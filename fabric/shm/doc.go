// Package shm is the provider between processes of one host: no NIC, no
// system call when busy. A peer's region is a sealed memory file, mapped when
// its key is first used; from then on READ, WRITE and atomics are loads and
// stores of the initiator's own thread. Queues, execution and waiting are those
// of fabric/internal/direct; this package adds the control socket.
//
// # The control socket
//
// A listener is a unix socket (SOCK_SEQPACKET: one packet, one message). Each
// connection keeps its socket for as long as it lives: the kernel proves by it
// who the peer is, descriptors travel over it, and its end is how the death of
// a process is noticed. All numbers are little-endian.
//
//	kind    message   fields after the kind byte              descriptors
//	 1      hello     magic u32 'RMSH', version u8,           two wake pipes
//	                  transport u8, receive depth u32,
//	                  private data
//	 2      accept    receive depth u32, private data         segment, two wake pipes
//	 3      reject    private data
//	 4      refuse    reason, text
//	 5      map       key u32
//	 6      mapped    key u32, access u8, address u64,        memory file,
//	                  size u64; access 0: not granted         when granted
//	 7      revoked   key u32
//	 8      bye
//	 9      gram      magic u32, version u8, queue pair u32,
//	                  secret u64
//	10      gram ok                                           segment, wake pipe
//	11      forbid    reason, text
//
// hello is answered by accept, reject or refuse; gram by gram ok or refuse;
// map by mapped. Users that may not connect are sent forbid as soon as they do. bye and revoked are not answered. Anything else, or too long,
// or without its descriptors, ends the connection with ErrProtocol.
//
// # The memory file of a region
//
//	+----------------------------------+------+------------------------------+
//	| the region, rounded up to pages  | live | rest of the last page, unused|
//	+----------------------------------+------+------------------------------+
//
// live is the key as long as the region is open, then 0. Initiators look at it
// before every operation.
//
// # Invariants
//
//	I1  What a peer may only read is sealed against writing before its
//	    descriptor leaves the process (arena.ReadOnlyForOthers). The owner's
//	    mapping is the only one that can ever write.
//	I2  No memory file can change its size; one that could is not mapped.
//	I3  A descriptor of a region is handed out only over the connection of a
//	    queue pair of the region's own domain. A peer that is given a domain
//	    of its own can therefore never map what belongs to another.
//	I4  Closing a region ends its memory on this side at once. A peer that is
//	    in the middle of an operation finishes it on pages that are no
//	    longer used, and unmaps them when it is notified.
//	I5  Nothing that a peer sends makes this side block: control messages are
//	    sent without waiting, and a peer that does not read them is cut off;
//	    waking does not wait, whatever descriptor the peer gave for a pipe.
//	    What remains: a peer that can make a page fault of the kernel wait
//	    (a FUSE mount or userfaultfd of its own) can hold the lock of a pipe,
//	    or the closing of a descriptor that it sent. Give other users access
//	    only on hosts where they have neither.
//	I6  A process may connect if it has the listener's user, is root, or is
//	    listed in AllowUIDs or a member of a group in AllowGIDs; the socket
//	    file has mode 0600 unless told otherwise. A datagram queue pair is
//	    reached through a socket in a directory of mode 0700, by its own user
//	    and root alone.
//	I7  What a killed process leaves behind is its socket files, beside locks that
//	    the kernel has released. A listener replaces that of its path; a device
//	    that makes a socket for datagrams, or listens, removes those that dead
//	    processes of its user have left.
//	I8  A dialer sends nothing to a listener of another user, unless that is
//	    root or the address names the user (?user=). The kernel knows who
//	    listens, so it does not matter who could make the socket file.
//	I9  Peers that connect and say nothing keep no other out: see
//	    base.Greeters, for which a peer is a user. A process has a bounded
//	    number of rings for each datagram queue pair.
//
// # Threads
//
// One goroutine per connection reads the control socket; it hands what it
// hears to the queue pair as notes. Data never passes through it.
//
// # Why not otherwise
//
// Regions are mapped on first use rather than at connect: a client of a large
// server uses a few of its regions, and the rights are checked where the key is
// used. A stale window cannot be read by accident, because live is checked.
package shm
