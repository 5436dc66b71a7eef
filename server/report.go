package server

import (
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/remora-kv/remora/internal/command"
	"github.com/remora-kv/remora/rpc"
)

// reports are statistics, gathered by a goroutine of their own: a core copies some counters, and
// all else that takes time happens there. A report is asked for, and then read in pieces.
type reports struct {
	server *Server

	mu      sync.Mutex
	last    uint64 // number of the last report that was asked for
	waiting bool   // and it was not begun
	done    []report

	wake, stop, ended chan struct{}
}

// report is the statistics of all cores, one JSON document for each.
type report struct {
	number uint64
	cores  [][]byte
}

const (
	// keepReports is how many reports there are for those who are reading them.
	keepReports = 4
	// pieceSize is the most that one result has of a report.
	pieceSize = 16 << 10
	// sessionsAtOnce is how many sessions a core describes before it serves others.
	sessionsAtOnce = 16
)

func startReports(s *Server) *reports {
	r := &reports{server: s, wake: make(chan struct{}, 1), stop: make(chan struct{}), ended: make(chan struct{})}
	go r.run()
	return r
}

// close ends the goroutine. The cores are still running.
func (r *reports) close() {
	close(r.stop)
	<-r.ended
}

// begin returns the number of a report that contains all that was counted before.
func (r *reports) begin() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.waiting {
		r.waiting = true
		r.last++
	}
	select {
	case r.wake <- struct{}{}:
	default:
	}
	return r.last
}

// text returns the document of a core in a report, nil if it is not ready. It returns false if there
// is no such report, or no more.
func (r *reports) text(number uint64, core uint32) ([]byte, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.done {
		if d := &r.done[i]; d.number == number && int64(core) < int64(len(d.cores)) {
			return d.cores[core], true
		}
	}
	ready := uint64(0)
	if n := len(r.done); n != 0 {
		ready = r.done[n-1].number
	}
	return nil, number > ready && number <= r.last
}

// run gathers reports. It rests as long as one has taken, so that clients that ask all the time
// take no more than half a CPU.
func (r *reports) run() {
	defer close(r.ended)
	rest := time.NewTimer(0)
	defer rest.Stop()
	for {
		select {
		case <-r.wake:
		case <-r.stop:
			return
		}
		select {
		case <-rest.C:
		case <-r.stop:
			return
		}
		begun := time.Now() //lint:allow time.Now not in the data path
		r.mu.Lock()
		number := r.last
		r.waiting = false
		r.mu.Unlock()
		d := report{number: number, cores: r.server.describe()}
		r.mu.Lock()
		r.done = append(r.done, d)
		if n := len(r.done) - keepReports; n > 0 {
			r.done = slices.Delete(r.done, 0, n)
		}
		r.mu.Unlock()
		rest.Reset(time.Since(begun)) //lint:allow time.Now not in the data path
	}
}

// describe returns the statistics of all cores.
func (s *Server) describe() [][]byte {
	all := make([][]byte, len(s.shards))
	for i, sh := range s.shards {
		text, err := json.Marshal(sh.describe())
		if err != nil {
			s.cfg.Log.Error("cannot describe a core", "core", i, "err", err)
			text = []byte("null")
		}
		all[i] = text
	}
	return all
}

// stats answers a request for statistics, or for a piece of them.
func (sh *shard) stats(_ *rpc.Call, arg, out []byte) ([]byte, error) {
	p, begin, err := command.ParseStats(arg)
	if err != nil {
		return out, malformed(command.Stats)
	}
	r := sh.server.reports
	if begin {
		return command.AppendReport(out, r.begin()), nil
	}
	text, ok := r.text(p.Report, p.Core)
	if !ok {
		return command.AppendStatus(out, command.NotFound), nil
	}
	return command.AppendPiece(out, text, p.Offset, pieceSize), nil
}
