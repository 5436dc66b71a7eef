// Package foreign runs the servers that Remora is compared with, memcached and
// redis-server, in the way that a benchmark needs them: alone, pinned, and gone
// afterwards.
//
//	F1  They are the programs of Debian's packages, started here for one
//	    comparison without a configuration file. They keep nothing on disk. A
//	    service of the same name that runs on this host is not touched.
//	F2  They listen at a port of the loopback interface that was free, or at a
//	    socket in a directory that nobody else can enter.
//	F3  Start returns when the server has answered, and answered that it is the
//	    process that was started: whoever else may have got the port is not
//	    measured by mistake.
//	F4  What a server uses of the CPUs is seen from outside (Server.CPU), with
//	    what the kernel does on its behalf.
//	F5  A server ends with its context, with Close, and with this process (P1 of
//	    package process). Then nothing of it is left; only a socket stays when
//	    this process is killed.
package foreign
