// Package target is what Remora is compared with, and how a benchmark reaches it: memcached
// and redis-server as processes of one comparison (Foreign), and a client of their protocols
// that costs as little as can be (Pipeline).
//
// # Servers
//
//	F1  They are the programs of Debian's packages, started here for one comparison without a
//	    configuration file. They keep nothing on disk. A service of the same name that runs on
//	    this host is not touched.
//	F2  They listen at a port of the loopback interface that was free, or at a socket in a
//	    directory that nobody else can enter.
//	F3  StartForeign returns when the server has answered, and answered that it is the process
//	    that was started: whoever else may have got the port is not measured by mistake.
//	F4  What a server uses of the CPUs is seen from outside (Foreign.CPU), with what the kernel
//	    does on its behalf.
//	F5  A server ends with its context, with Close, and with this process (P1 of package host).
//	    Then nothing of it is left; only a socket stays when this process is killed.
//
// # The pipeline
//
// Gets and sets, any number of them in flight on one connection, in the text and the meta
// protocol of memcached, in that of Redis (RESP), and in that of Remora's own text listener.
// Its purpose is a fair comparison. The clients that Go programs use take longer for an
// operation than the servers do:
//
//	P1  A thread of its own makes system calls on a socket and nothing else: there is no
//	    poller, no goroutine to wake, no buffer in between. While it waits it sleeps in the
//	    kernel, or polls the socket when it is told to be busy.
//	P2  Requests are collected and sent by one system call when an answer is waited for (Next,
//	    Flush). Long values are sent from where they are.
//	P3  Answers are parsed where they were read to, and nothing is allocated for them.
//	P4  Sending never waits for a server that waits for the client to read: when the socket
//	    takes no more, what is there is read.
//
// A Pipeline belongs to one goroutine at a time.
package target
