// Package agent is the protocol between the host and a guest of rocevm, and the
// guest's side of it.
//
// The two talk over a virtio-serial port, in lines of JSON: Request from the
// host, Event from the guest. The agent starts programs, streams what they
// print, passes signals on, hands files back and powers the guest off.
//
//	host                          guest
//	                          <-  hello (ready, or what failed while booting)
//	start 1 ["ibv_devinfo"]   ->
//	                          <-  output 1 "hca_id: rxe0\n..."
//	signal 1 SIGKILL          ->
//	                          <-  exit 1 (status, or the signal that ended it)
//	poweroff                  ->
//
// # Invariants
//
//	P1  Every start is answered by exactly one exit, the last event of its
//	    id. An exit that never comes means that the guest died; the host must
//	    take that for a failure.
//	P2  The output of a program is complete before its exit, in the order of
//	    its writes; standard output and standard error are one stream.
//	P3  An agent that loses the host powers the guest off: no guest outlives
//	    the harness.
package agent
