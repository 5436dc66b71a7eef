package server

import (
	"github.com/remora-kv/remora/rpc/rfp"
	"github.com/remora-kv/remora/rpc/sendrecv"
)

// SendRecvWindow is how many operations a client of sendrecv can have in flight to
// each core.
const SendRecvWindow = 16

// makeSendRecv makes the path sendrecv, on all devices: its cores are polled by those of
// rfp, too (V1).
func (s *Server) makeSendRecv() error {
	var err error
	s.sendrecv, err = sendrecv.NewServer(sendrecv.ServerConfig{
		Devices: s.devices, Serve: s.serve, Expect: s.togetherHints(), Cores: s.cfg.Cores,
		Wake:       func(core int) { s.rfp.Wake(core) },
		Window:     SendRecvWindow,
		MaxClients: s.cfg.MaxClients, Log: s.cfg.Log,
	})
	if err == nil {
		s.welcome.Paths = append(s.welcome.Paths, pathSendRecv)
	}
	return err
}

// addSendRecvPollers makes the cores of rfp poll those of sendrecv.
func (s *Server) addSendRecvPollers(cfg *rfp.ServerConfig) {
	for i := range s.cfg.Cores {
		cfg.Pollers[i] = append(cfg.Pollers[i], s.sendrecv.Poller(i))
	}
}

// togetherHints returns expect if the engine takes hints: requests of sendrecv that came
// together are to the engine what a batch of rfp is. They are served before a batch is
// announced again.
func (s *Server) togetherHints() sendrecv.Expect {
	if !s.prefetches() {
		return nil
	}
	return s.expect
}
