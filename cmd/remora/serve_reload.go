package main

import (
	"log/slog"
	"slices"
	"strconv"

	"github.com/spf13/pflag"

	"github.com/remora-kv/remora/server"
)

// reloader changes a server that runs to what its configuration has become.
type reloader struct {
	options *serveOptions
	flags   *pflag.FlagSet // of options
	level   slog.LevelVar
	given   []*pflag.Flag // on the command line, which stays as it is
}

// newReloader must be called before the options are filled from elsewhere.
func newReloader(o *serveOptions, flags *pflag.FlagSet) *reloader {
	r := &reloader{options: o, flags: flags}
	flags.Visit(func(f *pflag.Flag) { r.given = append(r.given, f) })
	return r
}

// live are the settings that can be changed while the server runs.
var live = []string{"log-level", "max-clients", "drain"}

// reload applies all of the live settings, or none if the configuration is
// wrong, and logs which others have changed.
func (r *reloader) reload(s *server.Server, log *slog.Logger) {
	fresh, flags := newServeOptions(), pflag.NewFlagSet("serve", pflag.ContinueOnError)
	fresh.define(flags)
	err := r.fill(fresh, flags)
	if err == nil {
		err = fresh.check(flags, log)
	}
	if err == nil {
		err = r.apply(fresh, s)
	}
	if err != nil {
		log.Error("the configuration is wrong, the old one stays", "err", err)
		return
	}
	log.Info("configuration read again", "log-level", fresh.logLevel, "max-clients", fresh.maxClients, "drain", fresh.drain.String())
	if waiting := r.waiting(flags); len(waiting) != 0 {
		log.Warn("settings have changed that need a restart", "settings", waiting)
	}
}

// fill reads the configuration again, behind what the command line said.
func (r *reloader) fill(fresh *serveOptions, flags *pflag.FlagSet) error {
	for _, f := range r.given {
		if flags.Lookup(f.Name) == nil {
			continue // it is one of all commands
		}
		if err := copyFlag(flags, f); err != nil {
			return err
		}
	}
	return fresh.hostOptions.fill(flags)
}

// copyFlag sets the flag of the same name.
func copyFlag(flags *pflag.FlagSet, f *pflag.Flag) error {
	list, ok := f.Value.(pflag.SliceValue)
	if !ok {
		return flags.Set(f.Name, exactly(f))
	}
	for _, v := range list.GetSlice() {
		if err := flags.Set(f.Name, v); err != nil {
			return err
		}
	}
	return nil
}

// exactly is the value of a flag; the text of a size is rounded.
func exactly(f *pflag.Flag) string {
	if n, ok := f.Value.(*size); ok {
		return strconv.FormatInt(int64(*n), 10)
	}
	return f.Value.String()
}

// check says whether a server would start with the options.
func (o *serveOptions) check(flags *pflag.FlagSet, log *slog.Logger) error {
	cfg, err := o.serverConfig(flags, log)
	if err == nil {
		_, err = cfg.Complete()
	}
	return err
}

// apply changes the server.
func (r *reloader) apply(fresh *serveOptions, s *server.Server) error {
	if err := s.SetMaxClients(fresh.maxClients); err != nil {
		return err
	}
	setLevel(&r.level, fresh.logLevel)
	r.options.drain = fresh.drain
	return nil
}

// waiting are the settings that differ from those that the server runs with.
func (r *reloader) waiting(flags *pflag.FlagSet) []string {
	var names []string
	flags.VisitAll(func(f *pflag.Flag) {
		if !slices.Contains(live, f.Name) && exactly(r.flags.Lookup(f.Name)) != exactly(f) {
			names = append(names, f.Name)
		}
	})
	return names
}
