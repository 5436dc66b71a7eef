// Package doctor says what fabric a machine can use, and why not another. It is
// what `remora doctor` prints.
//
// # Terms
//
//   - A probe looks at one thing: the cores, the limit of locked memory, the
//     RDMA devices. It yields one or more Findings.
//   - A Finding has a Mark (ok, warn, no), what was found in words and in
//     values, and, where there is something to do, what to do next.
//   - A Verdict says of one fabric whether it is usable, and the reasons why
//     it is not.
//   - A Host is the machine as the probes see it: a file tree and a few things
//     that are really tried. Tests make one up.
//
// # Invariants
//
//	D1  Nothing is changed on the machine but for sockets and memory that are
//	    given back before the probe returns. Nothing is loaded or installed.
//	D2  A probe never fails: what cannot be read is a finding that says so.
//	D3  A verdict follows from findings that are in the report: a user who reads "no"
//	    can find above what to do about it.
//	D4  What can be tried is tried (memory files, sockets, opening a device)
//	    rather than guessed from versions: containers and security modules
//	    refuse what a kernel version promises.
//	D5  A mark says what a thing means for Remora, not what it is: hugepages
//	    that are not reserved are ok because they are optional, an RDMA device
//	    that is missing is a "no" because verbs cannot do without one, though
//	    the exit status is that of a healthy machine.
//
// # Marks
//
//	ok    as it should be, or optional; there may still be advice
//	warn  works, but slower or less of it than could be
//	no    a fabric cannot be used because of this
//
// # Threads
//
// Examine runs in the goroutine of its caller and keeps nothing.
//
// # Why not otherwise
//
// Libraries, modules and ports are looked for in files and not by opening the
// libraries: the answer must be the same from a binary that was built without
// the verbs provider, and "the library is there, but this binary cannot use it"
// is the most useful thing it can say. Only what a device can do is asked of the
// device itself, by a binary that has the provider.
package doctor
