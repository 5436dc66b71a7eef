package server

import (
	"errors"
	"fmt"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/rpc/rfp"
	"github.com/remora-kv/remora/server/text"
)

// textListeners serve clients that speak lines over TCP. Their cores are those of rfp,
// which poll them (V1).
type textListeners struct {
	hosts     []string // to listen on
	listeners []*text.Listener
}

// checkListen returns what is wrong with an address to listen on.
func checkListen(url string) error {
	if text.IsAddr(url) {
		_, err := text.ParseAddr(url)
		return err
	}
	_, err := fabric.ParseAddr(url)
	return err
}

// innerDevice is the address of the device of a server that listens on no fabric: its
// cores need a clock and something to sleep at. No client can reach it.
const innerDevice = provider.Loop + ":inner"

// makeText makes the text listeners, which do not listen yet.
func (s *Server) makeText() error {
	for _, url := range s.cfg.Listen {
		if !text.IsAddr(url) {
			continue
		}
		host, err := text.ParseAddr(url)
		if err != nil {
			return err
		}
		l, err := text.New(text.Config{
			Cores: s.cfg.Cores, Serve: s.serve, Clock: s.devices[0].Clock(), Seed: s.shards[0].seed,
			Wake:     func(core int) { s.rfp.Wake(core) },
			MaxValue: s.cfg.MaxValue, MaxClients: s.allClients(s.cfg.MaxClients), BusyPoll: s.cfg.BusyPoll, Log: s.cfg.Log,
		})
		if err != nil {
			return err
		}
		s.text.hosts, s.text.listeners = append(s.text.hosts, host), append(s.text.listeners, l)
	}
	return nil
}

// addTextPollers makes the cores of rfp poll the mailboxes of the text listeners.
func (s *Server) addTextPollers(cfg *rfp.ServerConfig) {
	for _, l := range s.text.listeners {
		for i := range s.cfg.Cores {
			cfg.Pollers[i] = append(cfg.Pollers[i], l.Poller(i))
		}
	}
}

// openText starts the text listeners.
func (s *Server) openText() error {
	for i, l := range s.text.listeners {
		addr, err := l.Listen(s.text.hosts[i])
		if err != nil {
			return fmt.Errorf("cannot listen on %s://%s: %w", text.Scheme, s.text.hosts[i], err)
		}
		s.cfg.Log.Info("listening", "addr", addr)
	}
	return nil
}

// TextAddrs returns the addresses of the text listeners.
func (s *Server) TextAddrs() []string {
	var all []string
	for _, l := range s.text.listeners {
		if addr := l.Addr(); addr != "" {
			all = append(all, addr)
		}
	}
	return all
}

func (t *textListeners) stopListening() {
	for _, l := range t.listeners {
		l.StopListening()
	}
}

// traffic returns how many clients there are, and how many commands there were.
func (t *textListeners) traffic() (clients int, commands uint64) {
	for _, l := range t.listeners {
		st := l.Stats()
		clients += st.Clients
		commands += st.Commands
	}
	return clients, commands
}

func (t *textListeners) stats() []text.Stats {
	var all []text.Stats
	for _, l := range t.listeners {
		all = append(all, l.Stats())
	}
	return all
}

func (t *textListeners) close() (err error) {
	for _, l := range t.listeners {
		err = errors.Join(err, l.Close())
	}
	return err
}
