package load

// Op is what is done with a key.
type Op uint8

// The operations.
const (
	Get    Op = iota
	Put       // of a key that is there already, unless it was evicted
	Insert    // the first put of a key
	Modify    // a get, and when its result is there a put of the same key
	Delete    // of traces only
)

// Reads reports whether an operation begins with a get.
func (o Op) Reads() bool { return o == Get || o == Modify }
