package command

// Welcome is what a server says about itself in the result of hello.
type Welcome struct {
	Protocol int    `json:"protocol"`
	Version  string `json:"version"`
	// Instance differs after each start of a server, as do seed and versions.
	Instance uint64 `json:"instance"`
	// Seed is that of the hashes of keys; Cores is the number of partitions, and Core
	// the one that answers.
	Seed  uint64 `json:"seed"`
	Cores int    `json:"cores"`
	Core  int    `json:"core"`
	// MaxKey is the length of the longest key, and MaxValue that of the longest value.
	MaxKey   int      `json:"max_key"`
	MaxValue int      `json:"max_value"`
	Engine   string   `json:"engine"`
	Mode     string   `json:"mode"`
	Fabric   string   `json:"fabric"`
	Paths    []string `json:"paths"`
	// Links says that clients may read items directly from the server's memory.
	Links bool `json:"links,omitempty"`
	// Now is the server's time, in milliseconds since the epoch, when it answered.
	Now int64 `json:"now,omitempty"`
}

// SameServer reports whether two answers come from one start of a server, which has one map
// of keys to cores.
func (w *Welcome) SameServer(other *Welcome) bool {
	return w.Instance == other.Instance && w.Seed == other.Seed && w.Cores == other.Cores
}
