package rfp

// Mode says how answers return.
type Mode uint8

// The modes, as they stand in the memory of the server.
const (
	// Fetch: the client READs the answer.
	Fetch Mode = iota
	// Reply: the server pushes it.
	Reply
	// ReplyWake: it is pushed so that it wakes a sleeping client.
	ReplyWake
)

// String returns the name used in options and reports.
func (m Mode) String() string {
	switch m {
	case Fetch:
		return "fetch"
	case Reply, ReplyWake:
		return "reply"
	}
	return "unknown"
}
