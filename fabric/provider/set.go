package provider

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/loop"
	"github.com/remora-kv/remora/fabric/shm"
	"github.com/remora-kv/remora/fabric/tcp"
)

// The names of the fabrics.
const (
	Loop = "loop"
	Shm  = "shm"
	TCP  = "tcp"
	RDMA = "rdma"
)

// Set opens devices. Its methods may be called from any goroutine.
type Set struct {
	// Log, when not nil, receives what Open chose where there was a choice: the
	// adapter, its port and its address (rdma), once for each name that was
	// asked for. It is set before the first Open.
	Log *slog.Logger

	network *loop.Network
	opened  atomic.Uint64
	told    sync.Map // names whose choice was logged
}

// Opener opens a device by the name of its fabric, as a Set does.
type Opener interface {
	Open(name string) (fabric.Device, error)
}

// New returns a set whose loop network is empty.
func New() *Set { return &Set{network: loop.NewNetwork()} }

// Names returns the fabrics that Open knows, the ones that need nothing
// installed first.
func Names() []string { return []string{Loop, Shm, TCP, RDMA} }

// Open makes a device. name is a fabric (loop, shm, tcp, rdma) or an address
// of one (shm:/run/remora.sock, rdma://host:port?device=mlx5_0), whose options
// choose the device. The caller closes it.
func (s *Set) Open(name string) (fabric.Device, error) {
	addr := fabric.Addr{Fabric: name}
	if strings.Contains(name, ":") {
		parsed, err := fabric.ParseAddr(name)
		if err != nil {
			return nil, err
		}
		addr = parsed
	}
	return s.open(addr)
}

func (s *Set) open(addr fabric.Addr) (fabric.Device, error) {
	if addr.Fabric == RDMA || addr.Fabric == "verbs" {
		log := s.Log
		if _, before := s.told.LoadOrStore(addr.String(), true); before {
			log = nil
		}
		return openVerbs(addr, log)
	}
	var options []string
	if addr.Fabric == Shm {
		options = []string{shm.UserOption}
	}
	if err := addr.CheckOptions(options...); err != nil {
		return nil, err
	}
	switch addr.Fabric {
	case Loop:
		return device(s.network.NewDevice(fmt.Sprintf("loop%d", s.opened.Add(1)-1)))
	case Shm:
		return device(shm.New(shm.Config{}))
	case TCP:
		return device(tcp.New(tcp.Config{}))
	}
	return nil, fmt.Errorf("provider: fabric %q is unknown: use %s: %w",
		addr.Fabric, strings.Join(Names(), ", "), fabric.ErrInvalid)
}

// device keeps a nil pointer from becoming a device that is not nil.
func device[D fabric.Device](d D, err error) (fabric.Device, error) {
	if err != nil {
		return nil, err
	}
	return d, nil
}
