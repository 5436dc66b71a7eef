package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"net/url"
	"os/user"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// access says which users can reach a server through shared memory.
type access struct {
	mode       uint32
	uids, gids []int
}

// writable are the bits of a file mode that let others connect to a socket.
const writable = 0o022

// access reads the flags about the sockets of shm.
func (o *hostOptions) access(flags *pflag.FlagSet) (a access, err error) {
	mode, err := strconv.ParseUint(o.socketMode, 8, 32)
	if err != nil || mode > 0o777 {
		return a, fmt.Errorf("--socket-mode %q is not a file mode: write 0600 or 0660", o.socketMode)
	}
	shm := slices.ContainsFunc(o.listen, func(url string) bool { return strings.HasPrefix(url, "shm:") })
	for _, name := range []string{"socket-mode", "allow-user", "allow-group"} {
		if flags.Changed(name) && !shm {
			return a, fmt.Errorf("--%s has no effect without --listen shm:PATH", name)
		}
	}
	others, chosen := len(o.allowUsers)+len(o.allowGroups) != 0, flags.Changed("socket-mode")
	switch {
	case others && !chosen:
		mode = 0o666
	case others && mode&writable == 0:
		return a, fmt.Errorf("--allow-user and --allow-group have no effect with --socket-mode %s, by which the system lets no other user connect", o.socketMode)
	case !others && mode&writable != 0:
		return a, fmt.Errorf("--socket-mode %s has no effect without --allow-user or --allow-group, which say who may connect", o.socketMode)
	}
	a.mode = uint32(mode)
	a.uids, err = numbers("user", o.allowUsers, func(name string) (string, error) {
		u, err := user.Lookup(name)
		if err != nil {
			return "", err
		}
		return u.Uid, nil
	})
	if err != nil {
		return a, err
	}
	a.gids, err = numbers("group", o.allowGroups, func(name string) (string, error) {
		g, err := user.LookupGroup(name)
		if err != nil {
			return "", err
		}
		return g.Gid, nil
	})
	return a, err
}

// numbers returns the numbers of users or groups, which may be given by name.
func numbers(what string, names []string, lookup func(string) (string, error)) (all []int, err error) {
	for _, name := range names {
		number := name
		if _, err := strconv.Atoi(name); err != nil {
			if number, err = lookup(name); err != nil {
				return nil, fmt.Errorf("--allow-%s %q: %w", what, name, err)
			}
		}
		id, err := strconv.ParseUint(number, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("--allow-%s %q: %w", what, name, errors.Unwrap(err))
		}
		all = append(all, int(id))
	}
	return all, nil
}

// warnExposed warns if other hosts can reach the server.
func warnExposed(log *slog.Logger, urls []string) {
	var exposed []string
	for _, u := range urls {
		if beyondHost(u) {
			exposed = append(exposed, u)
		}
	}
	if len(exposed) != 0 {
		log.Warn("no authentication: every host that can reach these addresses can read and change all data; "+
			"let a firewall guard them, or listen on 127.0.0.1", "addrs", strings.Join(exposed, " "))
	}
}

// beyondHost reports whether other hosts can reach an address that a server listens at.
func beyondHost(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return false // shm and loop
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return err != nil || !ip.Unmap().IsLoopback()
}
