package server

import (
	"errors"
	"fmt"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/rpc/rfp"
	"github.com/remora-kv/remora/server/text"
)

// doors are where clients come in that are not of a fabric. Their cores are those of rfp,
// which poll them (V1).
type doors struct {
	hosts []string // to be opened at
	texts []*text.Door
}

// checkListen is what is wrong with an address to listen on.
func checkListen(url string) error {
	if text.IsAddr(url) {
		_, err := text.ParseAddr(url)
		return err
	}
	_, err := fabric.ParseAddr(url)
	return err
}

// innerDevice is the address of the device of a server that listens on no fabric: its
// cores need a clock and something to sleep at. Nobody else can reach it.
const innerDevice = provider.Loop + ":inner"

// makeDoors makes the doors, which are not open yet.
func (s *Server) makeDoors() error {
	for _, url := range s.cfg.Listen {
		if !text.IsAddr(url) {
			continue
		}
		host, err := text.ParseAddr(url)
		if err != nil {
			return err
		}
		door, err := text.New(text.Config{
			Cores: s.cfg.Cores, Serve: s.serve, Clock: s.devices[0].Clock(), Seed: s.shards[0].seed,
			Wake:     func(core int) { s.rfp.Wake(core) },
			MaxValue: s.cfg.MaxValue, MaxClients: s.herdClients(s.cfg.MaxClients), BusyPoll: s.cfg.BusyPoll, Log: s.cfg.Log,
		})
		if err != nil {
			return err
		}
		s.doors.hosts, s.doors.texts = append(s.doors.hosts, host), append(s.doors.texts, door)
	}
	return nil
}

// addDoors makes the cores of rfp poll the mailboxes of the doors.
func (s *Server) addDoors(cfg *rfp.ServerConfig) {
	for _, door := range s.doors.texts {
		for i := range s.cfg.Cores {
			cfg.Pollers[i] = append(cfg.Pollers[i], door.Poller(i))
		}
	}
}

// openDoors lets clients in.
func (s *Server) openDoors() error {
	for i, door := range s.doors.texts {
		addr, err := door.Listen(s.doors.hosts[i])
		if err != nil {
			return fmt.Errorf("cannot listen on %s://%s: %w", text.Scheme, s.doors.hosts[i], err)
		}
		s.cfg.Log.Info("listening", "addr", addr)
	}
	return nil
}

// Doors returns the addresses of the doors that are not those of a fabric, as they really
// are.
func (s *Server) Doors() []string {
	var all []string
	for _, door := range s.doors.texts {
		if addr := door.Addr(); addr != "" {
			all = append(all, addr)
		}
	}
	return all
}

func (d *doors) stopListening() {
	for _, door := range d.texts {
		door.StopListening()
	}
}

// traffic returns how many clients there are, and how many commands there were.
func (d *doors) traffic() (clients int, commands uint64) {
	for _, door := range d.texts {
		st := door.Stats()
		clients += st.Clients
		commands += st.Commands
	}
	return clients, commands
}

func (d *doors) stats() []text.Stats {
	var all []text.Stats
	for _, door := range d.texts {
		all = append(all, door.Stats())
	}
	return all
}

func (d *doors) close() (err error) {
	for _, door := range d.texts {
		err = errors.Join(err, door.Close())
	}
	return err
}
