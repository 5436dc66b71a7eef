package path

import (
	"context"
	"slices"

	"github.com/remora-kv/remora/rpc/rfp"
)

// Name is the name of a path, as users write it.
type Name string

// The paths.
const (
	RFP         Name = "rfp"
	Fetch       Name = "fetch"
	Reply       Name = "reply"
	Herd        Name = "herd"
	SendRecv    Name = "sendrecv"
	OneSided    Name = "onesided"
	OneSidedFAA Name = "onesided-faa"
	Pilaf       Name = "pilaf"
	Farm        Name = "farm"
	FarmVar     Name = "farm-var"
)

// kind describes a path.
type kind struct {
	name     Name
	pinned   bool     // rfp stays in mode
	mode     rfp.Mode // of rfp
	small    dialSmall
	searches bool // the reader searches the engine's index, for every get
	counts   bool // the reader counts each use of an item by an atomic
}

// dialSmall makes the connection for small messages that belongs to a connection of rfp.
type dialSmall func(ctx context.Context, d *Dialer, cfg *Config, core int) (smallConn, error)

var kinds = []kind{
	{name: RFP},
	{name: Fetch, pinned: true, mode: rfp.Fetch},
	{name: Reply, pinned: true, mode: rfp.Reply},
	{name: Herd, small: dialHerd},
	{name: SendRecv, small: dialSendRecv},
	{name: OneSided, pinned: true, mode: rfp.Reply, searches: true},
	{name: OneSidedFAA, pinned: true, mode: rfp.Reply, searches: true, counts: true},
	{name: Pilaf, pinned: true, mode: rfp.Reply, searches: true, small: dialSendRecv},
	{name: Farm, pinned: true, mode: rfp.Reply, searches: true},
	{name: FarmVar, pinned: true, mode: rfp.Reply, searches: true},
}

// Names returns the names of all paths.
func Names() (names []Name) {
	for i := range kinds {
		names = append(names, kinds[i].name)
	}
	return names
}

// kind returns what the path does. A path that does not exist does what rfp does: callers
// check names first.
func (n Name) kind() *kind {
	return &kinds[max(slices.IndexFunc(kinds, func(k kind) bool { return k.name == n }), 0)]
}

// Small reports whether small messages take a connection of their own.
func (n Name) Small() bool { return n.kind().small != nil }

// Searches reports whether items are found by READs.
func (n Name) Searches() bool { return n.kind().searches }

// NeedsHashes reports whether connections need the hash of every key. Those with links say
// so themselves (Conn.WantsHash).
func (n Name) NeedsHashes() bool { return n.Small() || n.Searches() }
