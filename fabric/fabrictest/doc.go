// Package fabrictest is the conformance suite of package fabric: what every
// provider must do, as cases that run. An implementation plugs in with a
// constructor for two devices:
//
//	func TestConformance(t *testing.T) {
//		fabrictest.Run(t, func(tb testing.TB) *fabrictest.World {
//			net := loop.NewNetwork()
//			a, b := net.NewDevice("a"), net.NewDevice("b")
//			return &fabrictest.World{
//				A: a, B: b,
//				Listen: ...,
//				Kill:   ...,
//			}
//		})
//	}
//
// # Cases
//
// A case has a name that begins with the guarantee it checks, such as
// G2/last-byte-last/rc, and the sentence of the contract that it holds the
// provider to, which is printed when it fails. Every sentence is found word
// for word in the comments of package fabric, and every guarantee has a case;
// a test of this package sees to both.
//
// A case that meets fabric.ErrUnsupported, or needs a transport that the
// device's Limits deny, is skipped. There is no other reason for a skip and no
// list of exceptions.
//
// # Around each case
//
//	S1  Each case has a World of its own and may break it.
//	S2  A watchdog ends a case that hangs, with the stacks of all goroutines.
//	    Nothing else in the suite depends on how fast the machine is: waits are
//	    for conditions, lower bounds of time are read from the device's clock.
//	S3  When a case has passed, everything it made is closed, in the order that
//	    the contract asks for (T4), without an error. Then goroutines, file
//	    descriptors and mappings of memory files are back to what they were.
//	    So the suite must not run beside other tests of the same process.
//	S4  A queue pair and its completion queues are touched by one goroutine at
//	    a time (T1). Cases without peers own both ends in one goroutine and
//	    drive them in turn, because a software NIC may need both owners to poll.
//	S5  Transports that may drop (UC, UD) are given several attempts at each
//	    message. A message that arrives altered, in part or at the wrong place
//	    is a failure at the first attempt. A receiver in another goroutine may
//	    be slow rather than without a message, and then gets it twice.
//	S6  Random choices come from the seed in the log of a failed case.
//
// # Peers
//
// A case is written once. Most check what lies between two peers: that bytes
// arrive, in which order, whole, once, and that each peer learns of the end of
// the other. Such a case is one function that both peers run, each with its own
// device; it branches by role, and the peers know of each other only what they
// tell each other. Run has two goroutines of one process run it, RunProcesses
// two processes, and RunSide one peer here and the other anywhere, perhaps on
// another machine. The other cases need both devices in one process: mistakes
// of one caller, threads, deaths, counts. Only Run runs those.
//
//	W1  Peers exchange small values (say, hear) and meet at named points (meet)
//	    over a plain connection: a pipe, or whatever Side.Control is. While a
//	    peer waits for a word it drives the owners that it names.
//	W2  Both make the same random choices, from the name of the case.
//	W3  A peer that fails, is skipped, panics or hangs tells the other one,
//	    which ends the case at once with the same reason. Each has a watchdog of
//	    its own.
//	W4  What the other peer says orders nothing in memory: a target looks at
//	    what was written through internal/fence, and plainly only where a
//	    completion of its own has ordered it.
//	W5  Between processes the client leads: the server runs the cases that the
//	    client names, so -run on the client chooses for both. They stop after a
//	    hang, after several failures, when the first message does not arrive, or
//	    when the connection ends. A device serves all cases. What a case made is
//	    closed when the other peer needs it no longer; leaks are not looked for.
//
// # Sleeps
//
// A provider whose sleeps end by themselves after a while, as a second line of
// defence, hides wake-ups that it loses. It should give its waiters a method
//
//	LateWakes() uint64
//
// that counts sleeps which ended so though there was something to find; the
// suite wants it to stay 0.
//
// # Content
//
// Buffers are filled with patterns whose every word names the pattern and its
// own place in it, so that a wrong byte can be reported as "this is message 17
// at offset 64" (see pattern.go). Bytes around a target are checked as well.
package fabrictest
