package server

import (
	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/herd"
	"github.com/remora-kv/remora/rpc/sendrecv"
	"github.com/remora-kv/remora/store"
)

// Behind returns a configuration with something between the server and each of
// its devices.
func (c Config) Behind(wrap func(fabric.Device) fabric.Device) Config {
	before := c.wrap
	c.wrap = func(d fabric.Device) fabric.Device {
		if before != nil {
			d = before(d)
		}
		return wrap(d)
	}
	return c
}

// AddEngine adds an engine whose partitions are those of another one behind something,
// before any server is started.
func AddEngine(name, base string, wrap func(store.Config, store.Partition) (store.Partition, error)) {
	engines[name] = func(cfg store.Config, cores int) ([]store.Partition, error) {
		parts, err := engines[base](cfg, cores)
		for i := range parts {
			if parts[i], err = wrap(cfg, parts[i]); err != nil {
				break
			}
		}
		return parts, err
	}
}

// StopReports has nobody gather statistics: a test whose goroutine takes the place of the cores may
// be asked for them.
func (s *Server) StopReports() {
	s.reports.close()
	s.reports.stop, s.reports.ended = make(chan struct{}), make(chan struct{})
	close(s.reports.ended)
}

// Serve handles a message as a core would. Only for servers without clients.
func (s *Server) Serve(c *rpc.Call, msg, out []byte) ([]byte, error) { return s.serve(c, msg, out) }

// Expect tells a core of a batch, as Serve; false if it is not told of any.
func (s *Server) Expect(core int, batch [][]byte) bool {
	if s.hints() == nil {
		return false
	}
	s.expect(core, batch)
	return true
}

// Partition returns the partition of a core. Only for servers without clients.
func (s *Server) Partition(core int) store.Partition { return s.shards[core].part }

// Time returns the time that partitions are told at a time of the core.
func (s *Server) Time(core int, now int64) int64 { return s.shards[core].now(&rpc.Call{Now: now}) }

// Usage returns what the partitions have of the server's memory.
func (s *Server) Usage() []store.Usage { return s.arena.Usage() }

// Devices returns the devices.
func (s *Server) Devices() []fabric.Device { return s.devices }

// Seed is the seed of the hashes.
func (s *Server) Seed() store.Seed { return store.Seed(s.welcome.Seed) }

// Clients returns how many clients all cores have.
func (s *Server) Clients() int { return s.rfp.Stats().Clients }

// HerdStats returns what herd has counted over all cores.
func (s *Server) HerdStats() herd.ServerStats { return s.herd.Stats() }

// SendRecvStats returns what sendrecv has counted over all cores.
func (s *Server) SendRecvStats() sendrecv.ServerStats { return s.sendrecv.Stats() }

// Traffic returns how many clients there are by all paths, and how many calls there were.
func (s *Server) Traffic() (clients int, calls uint64) { return s.traffic() }

// BeginReport begins a report, as a request does.
func BeginReport(s *Server) uint64 { return s.reports.begin() }

// ReportText returns a document of a report, as requests get it in pieces.
func ReportText(s *Server, number uint64, core uint32) ([]byte, bool) {
	return s.reports.text(number, core)
}
