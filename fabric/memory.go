package fabric

// Usage is the memory that a device holds for one purpose.
type Usage struct {
	Purpose  string
	Blocks   int
	Bytes    int64 // as they were asked for
	Resident int64 // bytes of them that are in RAM
	Heap     bool  // it is memory of the Go heap
}
