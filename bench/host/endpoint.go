package host

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
)

// Endpoint is where a server listens.
type Endpoint struct {
	Addr fabric.Addr
	dir  string // of a socket file
}

// NewEndpoint chooses where to listen on a fabric: at the URL listen or, when that
// is empty, at a place of its own on this host, which has name in it. The caller
// removes the door.
func NewEndpoint(fabricName, listen, name string) (d Endpoint, err error) {
	if listen != "" {
		d.Addr, err = fabric.ParseAddr(listen)
		return d, err
	}
	d.Addr.Fabric = fabricName
	switch fabricName {
	case provider.Loop:
		d.Addr.Name = name
	case provider.TCP, provider.RDMA:
		// Of rdma that is the control connection; data goes over the adapter.
		d.Addr.Name = "127.0.0.1:0"
	case provider.Shm:
		if d.dir, err = os.MkdirTemp("", "remora-"+name+"-"); err != nil {
			return d, fmt.Errorf("a directory for the socket: %w", err)
		}
		d.Addr.Name = filepath.Join(d.dir, name+".sock")
	default:
		return d, fmt.Errorf("on %s the server must be told where to listen: use --listen %s://host:port", fabricName, fabricName)
	}
	return d, nil
}

// Remove removes the socket file, if there is one and it is still there. When all
// clients are connected it has done its duty, and nothing is left behind however
// the process ends.
func (d *Endpoint) Remove() error {
	if d.dir == "" {
		return nil
	}
	dir := d.dir
	d.dir = ""
	return os.RemoveAll(dir)
}
