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
)

var procNames = [numProcs]string{"hello", "get", "put", "delete", "touch", "incr", "stats", "link"}

// String returns the name used in statistics.
func (p Proc) String() string {
	if p < numProcs {
		return procNames[p]
	}
	return "unknown"
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
	WrongCore // the key belongs to another core: the client has an old map
	Unsupported
	Draining // the server is about to end, and did nothing

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

// Condition says on which state of a key a change may happen.
type Condition uint8

// The conditions, as they travel.
const (
	Always Condition = iota
	IfAbsent
	IfPresent
	IfVersion
)
