package fabric

import (
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"
)

// Addr is where a server is, written as a URL:
//
//	loop:name
//	shm:/run/remora.sock
//	shm:/run/remora/remora.sock?user=remora
//	tcp://host:port
//	rdma://host:port?device=mlx5_0&gid=auto&tclass=104
//
// Only rdma has options; docs/rdma.md lists them.
type Addr struct {
	// Fabric is the scheme: loop, shm, tcp or rdma.
	Fabric string
	// Name is the name (loop), the path of the socket file (shm) or host:port.
	Name string
	// Options are the query of the URL.
	Options url.Values
}

// ParseAddr reads an address.
func ParseAddr(s string) (Addr, error) {
	fail := func(why string) (Addr, error) {
		return Addr{}, addrError(fmt.Sprintf("fabric: address %q %s; "+
			"write shm:/path/to.sock, tcp://host:port, rdma://host:port or loop:name", s, why))
	}
	u, err := url.Parse(s)
	if err != nil {
		return fail("is not a URL")
	}
	q, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return fail("has a broken query")
	}
	if len(q) == 0 {
		q = nil
	}
	a := Addr{Fabric: u.Scheme, Options: q}
	switch u.Scheme {
	case "loop":
		a.Name = u.Opaque
	case "shm":
		a.Name = u.Opaque + u.Path
		if rest := strings.TrimLeft(a.Name, "/"); len(a.Name)-len(rest) > 1 {
			a.Name = "/" + rest // two slashes would begin a host
		}
		if u.Host != "" {
			return fail("names a host, but shared memory is of this host")
		}
	case "tcp", "rdma":
		if _, port, err := net.SplitHostPort(u.Host); err != nil || port == "" {
			return fail("has no host:port")
		}
		if strings.Trim(u.Path, "/") != "" {
			return fail("has a path")
		}
		a.Name = u.Host
	case "":
		return fail("has no fabric")
	default:
		return fail("names an unknown fabric")
	}
	if a.Name == "" {
		return fail("names nothing")
	}
	return a, nil
}

// CheckOptions returns an error if the address has an option that is not among those that
// the provider knows.
func (a Addr) CheckOptions(known ...string) error {
	use := "use " + strings.Join(known, ", ")
	if len(known) == 0 {
		use = "addresses of " + a.Fabric + " have none"
	}
	for _, name := range slices.Sorted(maps.Keys(a.Options)) {
		if !slices.Contains(known, name) {
			return addrError(fmt.Sprintf("fabric: address %v has the unknown option %s; %s", a, name, use))
		}
	}
	return nil
}

// String returns the URL.
func (a Addr) String() string {
	sep := ":"
	if a.Fabric == "tcp" || a.Fabric == "rdma" {
		sep = "://"
	}
	s := a.Fabric + sep + a.Name
	if len(a.Options) != 0 {
		s += "?" + a.Options.Encode()
	}
	return s
}

// addrError is an address that is refused.
type addrError string

func (e addrError) Error() string        { return string(e) }
func (e addrError) Is(target error) bool { return target == ErrInvalid }
