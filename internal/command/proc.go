package command

// Protocol is the version of this format. A server refuses others in hello.
const Protocol = 1

// Proc is the number of a procedure.
type Proc uint16

// The procedures.
const (
	Hello Proc = iota
	Get
	Put
	Delete
	Touch
	Incr
	Stats
	Link // get, and say where the item is

	numProcs

	// Follow is a get that a client carries out by following a link. It is never sent.
	Follow Proc = 1 << 15
)

var procNames = [numProcs]string{"hello", "get", "put", "delete", "touch", "incr", "stats", "link"}

// String returns the name used in statistics.
func (p Proc) String() string {
	switch {
	case p < numProcs:
		return procNames[p]
	case p == Follow:
		return "follow"
	}
	return "unknown"
}

// Idempotent reports whether an operation may be repeated when it is not known whether it
// has happened.
func (p Proc) Idempotent() bool {
	switch p {
	case Get, Link, Follow, Hello, Stats:
		return true
	default:
		return false
	}
}

// MinResult returns the length of the shortest result of a procedure that succeeded.
func (p Proc) MinResult() int {
	switch p {
	case Get, Link, Follow, Put:
		return versionSize + statusSize
	case Incr:
		return sumSize + versionSize + statusSize
	default:
		return statusSize
	}
}

// Procs returns all procedures.
func Procs() []Proc {
	all := make([]Proc, numProcs)
	for i := range all {
		all[i] = Proc(i)
	}
	return all
}

// Status says how an operation ended.
type Status uint8

// The statuses.
const (
	OK Status = iota
	NotFound
	Exists
	Changed // the item has another version
	TooLarge
	Full
	NotNumber
	WrongCore // the key belongs to another core: the client knows an earlier start of the server
	Unsupported
	Draining // the server is shutting down, and did nothing

	numStatuses
)

var statusNames = [numStatuses]string{
	"ok", "not found", "exists", "changed", "too large", "out of memory", "not a number", "wrong core", "unsupported", "draining",
}

// String returns the name used in statistics and errors.
func (s Status) String() string {
	if s < numStatuses {
		return statusNames[s]
	}
	return "unknown"
}

// Condition is what a change requires of the present item.
type Condition uint8

// The conditions, by their numbers on the wire.
const (
	Always Condition = iota
	IfAbsent
	IfPresent
	IfVersion
)
