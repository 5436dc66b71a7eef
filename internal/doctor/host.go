package doctor

import (
	"context"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// Host is the machine as the probes see it. Paths in FS have no leading slash.
type Host struct {
	FS fs.FS
	// OS and Arch are those of the binary, as Go names them.
	OS, Arch string
	// Verbs says that the binary has the verbs provider.
	Verbs bool
	// CPUs are those that the process may run on.
	CPUs []int
	// Memlock is the limit of locked memory in bytes; Unlimited is no limit.
	Memlock uint64
	Getenv  func(string) string
	// The rest is really tried. An error says why it does not work.
	TryMemfd func() error
	TryUnix  func(dir string) error
	TryTCP   func() error
	TryUDP   func() error
	// TryOpen opens a device file for reading and writing.
	TryOpen func(path string) error
	// TryDevice opens a port of an RDMA device and says what it can do. It is
	// nil on ThisHost: the program, which has the provider, sets it.
	TryDevice func(name string, port int) (Limits, error)
}

// Limits are what an RDMA device can do, in bytes and in numbers.
type Limits struct {
	Inline   int  `json:"inline"`
	Segments int  `json:"segments"`
	Depth    int  `json:"depth"`
	CQDepth  int  `json:"cq_depth"`
	Message  int  `json:"message"`
	MTU      int  `json:"mtu"`
	Reads    int  `json:"reads"`
	Region   int  `json:"region"`
	UC       bool `json:"uc"`
	UD       bool `json:"ud"`
	Atomics  bool `json:"atomics"`
}

// Unlimited as Host.Memlock is no limit.
const Unlimited = ^uint64(0)

// ThisHost returns the machine that the program runs on.
func ThisHost() *Host {
	h := &Host{
		FS: os.DirFS("/"), OS: runtime.GOOS, Arch: runtime.GOARCH, Verbs: hasVerbs,
		Getenv: os.Getenv, TryUnix: tryUnix, TryTCP: tryTCP, TryUDP: tryUDP, TryOpen: tryOpen,
	}
	h.system()
	return h
}

func tryOpen(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return f.Close()
}

// patience bounds what is tried with the network of this machine.
const patience = 3 * time.Second

// tryUnix makes a socket file below dir, connects to it and removes it.
func tryUnix(dir string) error {
	tmp, err := os.MkdirTemp(dir, "remora-doctor-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	return tryStream("unix", filepath.Join(tmp, "s"))
}

func tryTCP() error { return tryStream("tcp", "127.0.0.1:0") }

// tryStream listens, connects and accepts.
func tryStream(network, addr string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, network, addr)
	if err != nil {
		return err
	}
	defer l.Close()
	var d net.Dialer
	c, err := d.DialContext(ctx, network, l.Addr().String())
	if err != nil {
		return err
	}
	defer c.Close()
	// The connection waits in the backlog, so this does not block.
	a, err := l.Accept()
	if err != nil {
		return err
	}
	return a.Close()
}

// tryUDP sends a datagram to itself.
func tryUDP() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var lc net.ListenConfig
	c, err := lc.ListenPacket(ctx, "udp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer c.Close()
	deadline, _ := ctx.Deadline()
	if err := c.SetDeadline(deadline); err != nil {
		return err
	}
	if _, err := c.WriteTo([]byte("remora"), c.LocalAddr()); err != nil {
		return err
	}
	var buf [16]byte
	n, _, err := c.ReadFrom(buf[:])
	if err == nil && string(buf[:n]) != "remora" {
		err = fmt.Errorf("a datagram came back as %q", buf[:n])
	}
	return err
}

// read returns a file as text without the space around it; false when it
// cannot be read.
func (h *Host) read(path string) (string, bool) {
	b, err := fs.ReadFile(h.FS, path)
	return strings.TrimSpace(string(b)), err == nil
}

// exists reports whether there is something at path.
func (h *Host) exists(path string) bool {
	_, err := fs.Stat(h.FS, path)
	return err == nil
}

// list returns the names in a directory, none when there is no such.
func (h *Host) list(path string) []string {
	entries, err := fs.ReadDir(h.FS, path)
	if err != nil {
		return nil
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// field returns what follows a name in a file of "name: value" lines.
func (h *Host) field(path, name string) string {
	text, _ := h.read(path)
	for line := range strings.SplitSeq(text, "\n") {
		if v, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(v)
		}
	}
	return ""
}
