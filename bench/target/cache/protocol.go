package cache

import (
	"slices"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/target"
)

// The protocols of memcached.
const (
	ProtocolText = "text" // get and set, which every version has
	ProtocolMeta = "meta" // mg and ms, of 1.6 and later
)

// Protocols returns the names of the protocols of memcached.
func Protocols() []string { return []string{ProtocolText, ProtocolMeta} }

func (c *Config) checkProtocols(errs *bench.Faults) {
	errs.OneOf("--protocol", c.Protocols, Protocols())
	if slices.Contains(c.Protocols, ProtocolMeta) && slices.Contains(c.Paths, PathMemcached) &&
		slices.ContainsFunc(c.Goroutines, func(n int) bool { return n != 0 }) {
		errs.Add("--goroutines share gomemcache, which does not speak --protocol %s: use %s, or --clients", ProtocolMeta, ProtocolText)
	}
}

// protocol is what a pipeline speaks with the server of a case.
func (k *Case) protocol() target.Protocol {
	switch {
	case k.Path == PathRedis:
		return target.RESP{}
	case k.Path == PathText:
		return target.Text{}
	case k.Protocol == ProtocolMeta:
		return target.Meta{}
	}
	return target.Memcached{}
}

// anyMeta reports whether a row speaks another protocol than every version does.
func anyMeta(lines []median) bool {
	return slices.ContainsFunc(lines, func(m median) bool { return m.Row.Protocol == ProtocolMeta })
}
