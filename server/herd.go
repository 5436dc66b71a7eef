package server

import (
	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc/herd"
	"github.com/remora-kv/remora/rpc/rfp"
)

// The paths that a server can offer.
const (
	pathRFP      = "rfp"
	pathReply    = "reply"
	pathHerd     = "herd"
	pathSendRecv = "sendrecv"
)

// HerdWindow is how many operations a client of herd can have in flight to each core.
const HerdWindow = 16

// makeHerd makes the path herd on the devices that can have it: its cores are polled by
// those of rfp, so that a partition has one owner whatever the path (V1). Without such
// a device there is none.
func (s *Server) makeHerd() error {
	var devices []fabric.Device
	for _, dev := range s.devices {
		if herd.Supports(dev) == nil {
			devices = append(devices, dev)
		}
	}
	if len(devices) == 0 {
		return nil
	}
	var err error
	s.herd, err = herd.NewServer(herd.ServerConfig{
		Devices: devices, Serve: s.serve, Expect: s.hashHints(), Cores: s.cfg.Cores,
		Wake:       func(core int) { s.rfp.Wake(core) },
		Window:     HerdWindow,
		MaxClients: s.allClients(s.cfg.MaxClients), Log: s.cfg.Log,
	})
	if err == nil {
		s.welcome.Paths = append(s.welcome.Paths, pathHerd)
	}
	return err
}

// allClients is how many clients there are of paths and listeners on which a client has one
// connection for all cores, when each core takes n.
func (s *Server) allClients(n int) int { return min(n*s.cfg.Cores, maxClients) }

// addHerdPollers makes the cores of rfp poll those of herd.
func (s *Server) addHerdPollers(cfg *rfp.ServerConfig) {
	if s.herd == nil {
		return
	}
	for i := range s.cfg.Cores {
		cfg.Pollers[i] = append(cfg.Pollers[i], s.herd.Poller(i))
	}
}

// admit gives a connection request to the path that it is for; false if it is for rfp.
func (s *Server) admit(dev fabric.Device, req fabric.ConnRequest) bool {
	return s.herd != nil && s.herd.TryAdmit(dev, req) || s.exports != nil && s.exports.TryAdmit(dev, req) ||
		s.sendrecv.TryAdmit(dev, req)
}

// hashHints returns expectHash if the engine takes hints; without, no request waits in
// the pipeline.
func (s *Server) hashHints() herd.Expect {
	if !s.prefetches() {
		return nil
	}
	return s.expectHash
}

// expectHash has what a request will touch loaded, by the hash that the client sent.
// It is a hint: the handler computes its own (V2).
func (s *Server) expectHash(core, stage int, hash uint64) {
	sh := s.shards[core]
	if stage == 0 {
		sh.prefetch.PrefetchIndex(hash)
		return
	}
	// Not in sh.hashes: rfp may have announced a batch and not served all of it.
	sh.hint[0] = hash
	sh.prefetch.PrefetchItems(sh.hint[:])
}

// traffic returns how many clients there are, and how many calls there were.
func (s *Server) traffic() (clients int, calls uint64) {
	st := s.rfp.Stats()
	clients, calls = st.Clients, st.Calls
	if s.herd != nil {
		st := s.herd.Stats()
		clients += st.Clients
		calls += st.Calls
	}
	sr := s.sendrecv.Stats()
	more, commands := s.text.traffic()
	return clients + sr.Clients + more, calls + sr.Calls + commands
}
