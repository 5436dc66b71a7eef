package doctor

import (
	"fmt"
	"strings"
)

// probeUnix looks for a directory in which a socket file can be.
func probeUnix(p *patient) {
	var failed []string
	for _, dir := range []string{p.Getenv("XDG_RUNTIME_DIR"), "/run", p.Getenv("TMPDIR"), "/tmp"} {
		if dir == "" {
			continue
		}
		if err := p.TryUnix(dir); err != nil {
			failed = append(failed, fmt.Sprintf("%s: %v", dir, err))
			continue
		}
		p.socket = strings.TrimSuffix(dir, "/") + "/remora.sock"
		p.ok("unix sockets", "work in "+dir, map[string]any{"dir": dir})
		return
	}
	p.noUnix = "no directory takes a unix socket"
	p.no("unix sockets", strings.Join(failed, "; "), "shm hands over its memory through a socket file: "+
		"give the process a directory that it may write to (XDG_RUNTIME_DIR)", nil)
}

// probeTCP connects to itself.
func probeTCP(p *patient) {
	if err := p.TryTCP(); err != nil {
		p.noTCP = "TCP on loopback does not work"
		p.no("tcp", err.Error(), "is the loopback interface up? ip link set lo up", nil)
		return
	}
	p.ok("tcp", "connects on 127.0.0.1", nil)
}

// probeUDP sends a datagram to itself.
func probeUDP(p *patient) {
	if err := p.TryUDP(); err != nil {
		p.noUDP = "UDP does not work, so there are no datagrams"
		p.warn("udp", err.Error(), "datagram queue pairs of the tcp fabric need UDP; look for a firewall rule or a seccomp profile", nil)
		return
	}
	p.ok("udp", "datagrams arrive on 127.0.0.1", nil)
}
