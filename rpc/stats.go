package rpc

// ServerStats are the counts that the servers of all paths keep, since the start.
type ServerStats struct {
	Calls       uint64 `json:"calls"`    // requests served
	Failures    uint64 `json:"failures"` // of them that failed
	Panics      uint64 `json:"panics"`   // of those that failed, because the handler panicked
	Connects    uint64 `json:"connects"`
	Disconnects uint64 `json:"disconnects"`
	Cut         uint64 `json:"cut"`  // clients that broke the protocol
	Lost        uint64 `json:"lost"` // clients that were lost without a disconnect
}
