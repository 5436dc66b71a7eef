// Package process runs the server processes of benchmarks: it starts them where
// they are to run, keeps what they say last, and sees to it that none is left.
//
//	P1  A process dies with this one, however this one ends: the kernel kills it
//	    when the thread that started it ends, and that thread stays as long as
//	    the process does.
//	P2  It has a process group of its own, so that Ctrl-C ends the client, which
//	    ends the server.
//	P3  One that is to be pinned is so from its first instruction, with all
//	    threads that it will have: it inherits the CPUs of the thread that
//	    starts it.
//	P4  Nothing is ended but what was started here: told first, in the way that
//	    the process understands, and killed when it does not listen.
//
// Package child starts this binary again by it, package foreign the servers that
// Remora is compared with. Where there is only one process a goroutine takes the
// place of the other (Go), and ends in the same ways.
package process
