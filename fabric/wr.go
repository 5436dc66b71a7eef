package fabric

// Flags modify a work request.
type Flags uint8

// The flags of a work request.
const (
	// FlagSignaled asks for a completion on success (G10).
	FlagSignaled Flags = 1 << iota
	// FlagInline takes the data at Post (G14); at most Limits.MaxInline bytes,
	// for SEND, WRITE and WRITE_IMM.
	FlagInline
	// FlagSolicited makes the receive that this SEND or WRITE_IMM consumes
	// wake a waiter with SolicitedOnly (G17).
	FlagSolicited
)

// Seg is a piece of registered local memory.
type Seg struct {
	Region *Region
	Off    int
	Len    int
}

// Bytes returns the memory of the segment. A segment outside its region
// panics.
func (s Seg) Bytes() []byte {
	if s.Len == 0 {
		return nil
	}
	return s.Region.mem[s.Off : s.Off+s.Len : s.Off+s.Len]
}

// Remote names memory of a peer: an address inside one of its regions and the
// region's key. Peers tell each other in private data or in messages.
type Remote struct {
	Addr uint64
	Key  uint32
}

// At returns the place off bytes further on.
func (r Remote) At(off int) Remote { return Remote{Addr: r.Addr + uint64(off), Key: r.Key} }

// WR is a work request for a send queue. Post reads it and does not keep it;
// More is not kept either.
type WR struct {
	// ID comes back in the completion.
	ID uint64
	// Local is the data sent or written, or the place where a READ or the
	// former word of an atomic goes. Atomics need exactly 8 bytes, aligned.
	Local Seg
	// More are further segments, gathered or scattered after Local; at most
	// Limits.MaxSegs in all.
	More []Seg
	// Remote is the target of a one-sided operation. Atomics need an address
	// aligned to 8.
	Remote Remote
	// Compare and Operand belong to atomics: CMP_SWAP stores Operand if the
	// word equals Compare, FETCH_ADD adds Operand.
	Compare, Operand uint64
	// To is the destination of a datagram.
	To    AddressHandle
	Op    Op
	Flags Flags
	// Imm travels with WRITE_IMM.
	Imm uint32
}

// Bytes returns the length of the request's local data.
func (w *WR) Bytes() int {
	n := w.Local.Len
	for i := range w.More {
		n += w.More[i].Len
	}
	return n
}

// RecvWR is a work request for a receive queue: where the next message goes.
// UD needs GRHSize bytes more than the message (G16).
type RecvWR struct {
	ID    uint64
	Local Seg
	// More are further segments, filled after Local.
	More []Seg
}

// Bytes returns the capacity of the receive.
func (w *RecvWR) Bytes() int {
	n := w.Local.Len
	for i := range w.More {
		n += w.More[i].Len
	}
	return n
}
