// Package tcp is the provider between hosts without RDMA: a software NIC that
// executes RC and UC over TCP, and UD over UDP. New makes a device.
//
// # Terms
//
//   - A port is the set of sockets of the queue pairs that receive on one
//     completion queue. To drive a port is to read its sockets, execute what
//     the peers say, and write what there is to say.
//   - The owner of a port is the goroutine that polls its completion queue
//     (T1). It drives the port in Poll and Wait.
//   - The background thread of a device (type nic; in truth a goroutine) drives
//     the ports whose owners do not poll. So one-sided operations are executed
//     although the target's program does nothing (G18).
//   - A frame is what both ends send each other: a header and perhaps payload.
//     Requests go from initiator to target, responses come back; both kinds
//     share the one TCP stream of each direction.
//   - The window is the number of bytes of responses that an initiator may
//     have asked for and not yet received.
//   - A credit is a posted receive that was announced to the peer.
//   - A lingerer is a socket whose queue pair has ended and whose last frames
//     are not yet known to be read.
//
// # Invariants
//
//	I1  Requests of one connection are executed in the order they come, each
//	    as soon as it is there and without waiting for anything. Payload is
//	    placed from the read buffer as it comes, in address order, and only
//	    whole words of the target's memory until the last piece (G1, G2, G5).
//	I2  A response always finds room. An initiator asks for no more than the
//	    peer's window, in pieces of at most 64 KiB; the target buffers that
//	    much. A peer that asks for more breaks the protocol. So executing requests
//	    never depends on the socket taking bytes, both ends always read, and
//	    two ends that flood each other cannot block each other.
//	I3  SEND and WRITE_IMM on RC are sent only for a credit, so the target
//	    never has to keep a message without a receive. Responses carry the
//	    number of receives ever posted. An initiator without credit asks
//	    (PROBE); the answer is as good as the RNR NAK of hardware. Then it
//	    waits for news as long as RNRTimeout says, and everything behind the
//	    request waits with it (G1, G9). The other direction goes on.
//	I4  A port is driven by its owner while that polls, and by the background
//	    thread else. The thread finds out by a counter that Poll increments:
//	    having seen it move three times running it takes the port out of its
//	    epoll, looks again every millisecond, and takes it back when the
//	    counter stands still or the owner sleeps in a Waiter. Both may do it
//	    at the same time for a while: the lock of the queue pair sees to that.
//	I5  Nothing that is to be sent waits for more to come, with one exception:
//	    an ACK for a message that was just delivered to an owner who polls. It
//	    goes with the owner's answer, or with its next poll, or when the
//	    background thread looks (within two milliseconds).
//	I6  Memory of a region is touched for a peer only between finding it in
//	    the table and releasing the lock of the queue pair, held since before
//	    the look-up. Closing a region takes it out of the table and then takes
//	    every such lock once; so no thread is left that uses it.
//	I7  What a peer says is checked before it is used: header fields by
//	    decode, the rest against the state of the connection. A violation is
//	    one error that wraps fabric.ErrProtocol and ends this connection only.
//	    Memory held for a peer is bounded: less than a header of what it has
//	    said, and what it has asked for and not taken (I2), at most 513 KiB.
//	    A connection that has nothing to write holds no buffer.
//	I8  A connection ends in order with BYE or NAK as the last frame. A socket
//	    that ends without either means that the peer is lost (G13).
//
// # Hello
//
// All numbers are little-endian. Reserved bytes are zero and are checked. The
// dialer says hello first; the acceptor answers; then there are frames.
//
//	 0               8       10     11     12      16       20      22
//	+---------------+-------+------+------+-------+--------+-------+---------+
//	|"remora\r\n"   |version| kind | tran.| qpn   | window | plen  | reserved|
//	| 8 bytes       | u16   | u8   | u8   | u32   | u32    | u16   | 10 bytes|
//	+---------------+-------+------+------+-------+--------+-------+---------+
//	| plen bytes of private data, at most 256                                |
//	+------------------------------------------------------------------------+
//	kind: 1 request, 2 accept, 3 reject, 4 refuse (backlog full, or nothing
//	takes it), 5 your version is unknown to me. tran.: 0 RC, 1 UC.
//
// # Frames
//
//	 0    1     2        4         8        12       16
//	+----+-----+--------+---------+--------+--------+
//	|kind|flags|reserved| length  | seq    | arg    |  every frame
//	| u8 | u8  | u16    | u32     | u32    | u32    |
//	+----+-----+--------+---------+--------+--------+
//	 16       24      28      32
//	+--------+-------+-------+
//	| addr   | total | extra |                          WRITE, WRITE_IMM, READ,
//	| u64    | u32   | u32   |                          FETCH_ADD, CMP_SWAP
//	+--------+-------+-------+
//	 32       40        48
//	+--------+---------+
//	|operand | compare |                                FETCH_ADD, CMP_SWAP
//	| u64    | u64     |
//	+--------+---------+
//	 16       24
//	+--------+
//	| value  |                                          ATOMIC_DATA
//	| u64    |
//	+--------+
//	length bytes of payload follow, at most 65536, where the kind has any.
//
//	kind            length   seq       arg          other
//	 1 SEND         payload  request   total bytes  flag 1: solicited
//	 2 WRITE        payload  request   key          addr, total bytes
//	 3 WRITE_IMM    payload  request   key          addr, total, extra: immediate; flag 1
//	 4 DATA         payload  request   0            goes on with the message
//	 5 READ         0        request   key          addr, total: bytes asked for now,
//	                                                extra: bytes that will be asked after
//	 6 FETCH_ADD    0        request   key          addr, total 8, operand
//	 7 CMP_SWAP     0        request   key          addr, total 8, operand, compare
//	 8 PROBE        0        0         0            how many receives are there?
//	 9 BYE          0        -         0            the connection ends in order
//	10 READ_DATA    payload  request   receives     exactly what the READ asked for
//	11 ATOMIC_DATA  0        request   receives     the word as it was before
//	12 ACK          0        executed  receives     flag 2: answers a PROBE
//	13 NAK          0        refused   status       the connection ends with a failure
//
// Requests are numbered from 1; DATA has the number of its message. A message
// larger than a frame goes as its first frame and DATA frames, cut where the
// address is a multiple of 8; a large READ goes as several READ frames, each
// with a number. Every response acknowledges all requests before it, so ACK is
// sent only when nothing else says it, once for all that was read at once.
// On UC there are SEND, WRITE, WRITE_IMM, DATA, BYE and NAK (of a violation)
// only; nothing is acknowledged, and a request is complete when it is in the
// write buffer.
//
// # Datagrams
//
//	 0        4        6     7    8       12      16       24
//	+--------+--------+-----+----+-------+-------+--------+----------------+
//	| "RMUD" |version |flags| 0  | dst   | src   | key    | payload, at    |
//	| 4 bytes| u16    | u8  | u8 | u32   | u32   | u64    | most 1400 bytes|
//	+--------+--------+-----+----+-------+-------+--------+----------------+
//	dst and src are queue pair numbers; flag 1: solicited. Each datagram queue
//	pair has a socket and a random key of its own; what does not bring both its
//	number and its key is for another queue pair and dropped without a trace.
//
//	QP.Owns refuses the address of another host than that at the other end of the
//	connection, so that a peer cannot have datagrams sent to a third.
//
//	QP.Address: version u8, 0 u8, port u16, qpn u32, key u64, IP 16 bytes.
//
// # Keys and addresses
//
// A key is an index into the table of regions and 16 random bits. The address
// of a region is (index+1)<<44 plus a random multiple of 4096. A peer that was not
// given both must guess some 45 bits, and on RC loses the connection at each
// try. That does not protect against a reader of the network: the protocol is
// neither encrypted nor authenticated.
//
// # Threads and locks
//
// Post and PostRecv write frames and hand them to the kernel themselves; Poll
// and Wait read. A busy owner therefore meets no other goroutine. Up to two
// sockets are read directly, more are asked through the epoll of the port. The
// device's epoll holds the epolls of its ports, so that handing a port with
// hundreds of sockets from owner to background thread and back is one system
// call. The background thread waits for the device's epoll in the runtime's
// poller, serves, looks for more work for Config.Spin (50 µs) so that a stream
// of requests does not pay for a wake-up each, and blocks again. A Waiter
// sleeps on a channel; the thread that delivers its completion wakes it and
// lets it run. A program that keeps all its processors (GOMAXPROCS) busy
// without polling delays the thread until the runtime preempts it.
//
// A device has two descriptors, a completion queue one, a queue pair one. What
// sockets bring is read into 64 KiB that the driving thread has: each completion
// queue has them for its owner, and the device for the background thread. What
// waits for a socket is in memory that the device lends, as long as it waits.
//
// Locks are taken in this order: queue pair, port or completion queue, device,
// table, nic. No lock is held across a call that blocks. A Post may wait for
// the background thread to finish a piece of work on the same queue pair; that
// is at most four reads of the socket.
//
// # Why not otherwise
//
// A net.Conn with a reading goroutine costs a wake-up of the poller, a switch
// of goroutines and often of threads for each batch, and so longer round trips.
// Sockets are made by package net and then hidden from the
// runtime's poller, since that wakes a thread for every packet, also when the
// owner has read it already.
//
// A thread blocked in epoll_wait by system call keeps its processor until the
// runtime's monitor takes it away. With GOMAXPROCS=1 an owner that has just been
// woken would wait for that.
//
// Two TCP connections for each queue pair, one for the requests of each side,
// would make windows and credits unnecessary, because an end could simply stop
// reading. It would also double the sockets and, worse, the system calls of a
// request that is answered.
//
// Kernel reads into and writes out of regions would save a copy of large
// payloads. But the kernel copies in any order and may tear words (G2, G5), so
// that only local memory could be served this way.
//
// One write per Post rather than writes collected until the next Poll: a
// program may post and then compute for long, and a request that was posted is
// started.
package tcp
