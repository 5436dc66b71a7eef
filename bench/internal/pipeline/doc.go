// Package pipeline is a small and fast client of the servers that Remora is
// compared with: gets and sets, any number of them in flight on one connection,
// in the text and the meta protocol of memcached, in that of Redis (RESP), and in that of
// Remora's own text door.
//
// Its purpose is a fair comparison. The clients that Go programs use take longer
// for an operation than the servers do; this one adds as little as can be:
//
//	P1  A thread of its own makes system calls on a socket and nothing else: there
//	    is no poller, no goroutine to wake, no buffer in between. While it waits it
//	    sleeps in the kernel, or polls the socket when it is told to be busy.
//	P2  Requests are collected and sent by one system call when an answer is
//	    waited for (Next, Flush). Long values are sent from where they are.
//	P3  Answers are parsed where they were read to, and nothing is allocated for
//	    them.
//	P4  Sending never waits for a server that waits for us to read: when the socket
//	    takes no more, what is there is read.
//
// A Conn belongs to one goroutine at a time.
package pipeline
