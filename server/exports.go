package server

import (
	"errors"
	"fmt"
	"slices"

	"github.com/remora-kv/remora/rpc/onesided"
	"github.com/remora-kv/remora/store"
)

// searched names the paths on which clients find items of an engine by themselves.
var searched = map[string][]string{
	"cuckoo":        {"pilaf"},
	"hopscotch":     {"farm"},
	"hopscotch-var": {"farm-var"},
	"slots":         {"onesided", "onesided-faa"},
}

// Engine returns the engine whose items clients find by themselves on a path, "" for
// paths on which they ask.
func Engine(path string) string {
	for engine, paths := range searched {
		if slices.Contains(paths, path) {
			return engine
		}
	}
	return ""
}

// Exported reports whether clients may read the items of an engine also without
// Config.Links.
func Exported(engine string) bool { return searched[engine] != nil }

// makeExports makes what clients read of the partitions, before there are any: their
// memory is registered with the first device.
func (s *Server) makeExports() error {
	if !s.cfg.Links && !Exported(s.cfg.Engine) {
		return nil
	}
	var err error
	s.exports, err = onesided.NewServer(onesided.ServerConfig{
		Device: s.devices[0], Instance: s.welcome.Instance,
		MaxClients: min(s.cfg.MaxClients*s.cfg.Cores, maxClients), Log: s.cfg.Log,
	})
	if err == nil {
		s.arena = s.exports.Arena()
	}
	return err
}

// openExports lets clients read the partitions.
func (s *Server) openExports() error {
	if s.exports == nil {
		return nil
	}
	tables := make([]store.Export, len(s.shards))
	for i, sh := range s.shards {
		e, ok := sh.part.(store.Exporter)
		if !ok {
			return fmt.Errorf("clients cannot read items of engine %s directly: use engine %s, or no direct reads", s.cfg.Engine, DefaultEngine)
		}
		tables[i] = e.Export()
		sh.linker, _ = sh.part.(store.Linker)
		sh.user, _ = sh.part.(store.User)
	}
	if err := s.exports.Open(tables); err != nil {
		return err
	}
	s.welcome.Paths = append(s.welcome.Paths, searched[s.cfg.Engine]...)
	s.welcome.Links = s.shards[0].linker != nil
	return nil
}

// closeExports closes the partitions, when no client reads them any more.
func (s *Server) closeExports() {
	if s.exports != nil {
		s.err = errors.Join(s.err, s.exports.Close())
	}
	for _, sh := range s.shards {
		s.err = errors.Join(s.err, sh.part.Close())
	}
	if s.exports != nil {
		s.err = errors.Join(s.err, s.exports.Release())
	}
}
