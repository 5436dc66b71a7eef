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
//	    a time (T1). Most cases own both ends in one goroutine and drive them
//	    in turn, because a software NIC may need both owners to poll.
//	S5  Transports that may drop (UC, UD) are given several attempts at each
//	    message. A message that arrives altered, in part or at the wrong place
//	    is a failure at the first attempt. A receiver in another goroutine may
//	    be slow rather than without a message, and then gets it twice.
//	S6  Random choices come from the seed in the log of a failed case.
//
// # Two sides
//
// RunSide is the suite for two ends that share no memory: each runs in a
// process of its own, perhaps on a machine of its own, and they agree on what
// to do next over a plain connection. RunProcesses starts the second process,
// RunBoth makes do with two goroutines. The cases check from both ends what
// lies between: that bytes arrive, in which order, whole, once, and that each
// side learns of the end of the other.
//
//	W1  The client leads. The server runs the cases that the client names, so
//	    -run on the client chooses for both.
//	W2  A case is the same function on both sides, with the same random
//	    choices, and branches by role. Sides meet at named points.
//	W3  A side that fails, is skipped, panics or hangs tells the other one,
//	    which ends the case at once with the same reason. Then both go on with
//	    the next case. They stop after a hang, after several failures, when the
//	    first message does not arrive, or when the connection ends.
//	W4  A device serves all cases. What a case made is closed at its end, when
//	    the other side needs it no longer; leaks are not looked for.
//	W5  What the other side says orders nothing in memory: a target looks at
//	    what was written through internal/fence, and plainly only where a
//	    completion of its own has ordered it.
//
// # Sleeps
//
// A provider whose sleeps end by themselves after a while, as a second line of
// defence, hides wake-ups that it loses. It should give its waiters a method
//
//	Rescues() uint64
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
