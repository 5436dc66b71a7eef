package rfp

import (
	"sync"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc/wire"
)

// The bulk area of a direction is made when the first long message of that direction comes,
// since most clients have none. That message, and those that come until the area is there,
// travel in parts of a frame's length. The next answer begins with where the area is, and
// from then on long messages travel in pieces (I11).
//
// The area is made on a goroutine of its own, so that other clients of the core do not wait for
// memory to be registered. It stays until the session ends: to take it back, a server would have to
// be sure that the client does not use it any more, which is a message to a client that is silent.

// direction is that of messages.
type direction int

const (
	ofRequests direction = iota
	ofResults
	directions
)

// serverAreas are the bulk areas of a session while they are being made.
type serverAreas struct {
	making sync.WaitGroup
	made   [directions]*fabric.Region // by goroutines of making; free waits for them
	// The core owns the rest.
	asked  [directions]bool           // it is being made, is there, or could not be had
	untold [directions]*fabric.Region // it is there, and the client is to be told
	toldIn uint64                     // the result frame that says where the area for results is
}

// needArea has the area of a direction made, if there is to be one.
func (c *core) needArea(s *session, d direction) {
	if s.areas.asked[d] || s.rings.bulk == 0 {
		return
	}
	s.areas.asked[d] = true
	s.areas.making.Go(func() {
		purpose, size, access := "rfp request pieces", s.rings.bulk, fabric.RemoteWrite
		if d == ofResults {
			purpose, size, access = "rfp result pieces", s.rings.resultBulk, fabric.RemoteRead
		}
		r, err := s.domain.Alloc(purpose, size, access)
		if err != nil {
			c.Log.Warn("no memory for long messages of a client: they travel in short parts", "peer", s.peer.Addr, "err", err)
			return
		}
		s.areas.made[d] = r
		// The two directions share nothing: a core that has ended leaves it to their goroutines.
		c.Post(func() { s.areas.untold[d] = r })
	})
}

// news reports whether an area was made that the client is to be told of.
func (a *serverAreas) news() bool { return a.untold[ofRequests] != nil || a.untold[ofResults] != nil }

// tellAreas begins an answer with the areas that were made. No frame waits for room before it.
func (c *core) tellAreas(s *session) {
	a := &s.areas
	for d, r := range a.untold {
		if r == nil {
			continue
		}
		wire.PutEntry(c.out[c.fill:], wire.PieceSize, wire.Bulk)
		wire.Area{Place: placeOf(r.Remote()), Results: direction(d) == ofResults}.Put(c.out[c.fill+wire.EntryHeader:])
		c.fill += pieceEntry
		if a.untold[d] = nil; direction(d) == ofResults {
			s.bulkOut, s.out.size, a.toldIn = r.Bytes(), r.Len(), s.produced+1
		} else {
			s.bulkIn = r.Bytes()
		}
	}
}

// inPieces reports whether a long result travels in pieces: the client knows where the area is.
func (s *session) inPieces() bool { return len(s.bulkOut) != 0 && s.taken >= s.areas.toldIn }

// clientAreas are the bulk areas of the server, as far as a client knows them.
type clientAreas struct {
	known             [directions]bool
	requests, results fabric.Remote
}

// learnArea takes an entry that says where an area is, and reports whether it may.
func (c *Conn) learnArea(a wire.Area) bool {
	d := ofRequests
	if a.Results {
		d = ofResults
	}
	if c.areas.known[d] || c.rings.bulk == 0 {
		return false
	}
	c.areas.known[d] = true
	if place := remoteOf(a.Place); d == ofResults {
		c.areas.results = place
		c.meetResults()
	} else {
		c.areas.requests = place
		c.meetRequests()
	}
	return true
}

// meetResults has the queue pair meet the area for results, where it can be looked at: the first
// look at memory is one too early (fabric.Viewer). The next request follows on the same queue
// pair, and no piece comes before that (I11).
func (c *Conn) meetResults() {
	if c.bulk.viewer != nil {
		_ = c.postOne(fabric.WR{
			ID: kindWrite, Op: fabric.OpRead, Flags: fabric.FlagSignaled,
			Local: c.local.Seg(c.wordsAt+meetWord, wordSize), Remote: c.areas.results,
		})
	}
}

// meetRequests does the same for the area for requests. Nothing is in it yet. It is used when the
// WRITE is over.
func (c *Conn) meetRequests() {
	if c.bulk.placer == nil {
		c.out.size = c.rings.bulk
		return
	}
	_ = c.postOne(fabric.WR{
		ID: kindMet, Op: fabric.OpWrite, Flags: fabric.FlagSignaled,
		Local: c.local.Seg(c.wordsAt+meetWord, wordSize), Remote: c.areas.requests,
	})
}
