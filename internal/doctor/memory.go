package doctor

import (
	"fmt"
	"strconv"
	"strings"
)

// enoughLocked is how much locked memory makes do for small servers.
const enoughLocked = 1 << 30

// capIPCLock is the capability that lifts the limit.
const capIPCLock = 14

// probeMemory looks at how much memory a server can have.
func probeMemory(p *patient) {
	bytes, limit := p.Memory()
	if bytes == 0 {
		p.ok("memory", "unknown", nil)
		return
	}
	p.ok("memory", fmt.Sprintf("%.1f GiB (%s)", float64(bytes)/(1<<30), limit), map[string]any{"bytes": bytes, "limit": limit})
}

// probeMemlock looks at how much memory can be registered with a NIC.
func probeMemlock(p *patient) {
	caps, err := strconv.ParseUint(p.field("proc/self/status", "CapEff"), 16, 64)
	privileged := err == nil && caps&(1<<capIPCLock) != 0
	v := map[string]any{"privileged": privileged}
	found := "unlimited"
	if p.Memlock != Unlimited {
		v["bytes"] = p.Memlock
		found = size(p.Memlock)
	}
	switch {
	case privileged && p.Memlock != Unlimited:
		p.advise("memlock", found+", but CAP_IPC_LOCK lifts the limit", "a server without that capability needs: "+p.raiseMemlock(), v)
	case p.Memlock < enoughLocked:
		p.warn("memlock", found+" of locked memory", "verbs registers its memory with the NIC and fails beyond the limit "+
			"(shm and tcp do not need it): "+p.raiseMemlock(), v)
	default:
		p.ok("memlock", found, v)
	}
}

// raiseMemlock says how to raise the limit, where the program runs.
func (p *patient) raiseMemlock() string {
	if p.container {
		return "docker run --ulimit memlock=-1 (Kubernetes: raise it for the container runtime, or add IPC_LOCK)"
	}
	return "ulimit -l unlimited, LimitMEMLOCK=infinity in a systemd unit, or memlock in /etc/security/limits.conf"
}

// size writes a number of bytes with a unit.
func size(n uint64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB"}
	i := 0
	for n >= 1024 && n%1024 == 0 && i < len(units)-1 {
		n /= 1024
		i++
	}
	return fmt.Sprintf("%d %s", n, units[i])
}

// probeHugepages looks at huge pages, which the kernel gives to large memory by itself if it
// may. Reserved pages are not used here: a peer could take one away.
func probeHugepages(p *patient) {
	const at = "/sys/kernel/mm/transparent_hugepage/"
	private, shared := p.chosen(at[1:]+"enabled"), p.chosen(at[1:]+"shmem_enabled")
	v := map[string]any{"transparent": private, "transparent_shmem": shared}
	found := fmt.Sprintf("transparent: %s; for shared memory: %s", or(private, "not available"), or(shared, "not available"))
	switch {
	case private == "never":
		p.warn("hugepages", found, "large stores miss the TLB: echo madvise > "+at+"enabled", v)
	case shared == "never" || shared == "deny":
		p.advise("hugepages", found, "optional, for links into large stores: echo advise > "+at+"shmem_enabled", v)
	default:
		p.ok("hugepages", found, v)
	}
}

// chosen returns the word in brackets of a file such as "always [madvise] never".
func (p *patient) chosen(path string) string {
	text, _ := p.read(path)
	_, rest, _ := strings.Cut(text, "[")
	word, _, _ := strings.Cut(rest, "]")
	return word
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// probeMemfd tries what the shm provider needs of memory.
func probeMemfd(p *patient) {
	if err := p.TryMemfd(); err != nil {
		p.noMemfd = "sealed memory files do not work"
		p.no("memory files", err.Error(), "shm needs memfd_create and seals: Linux 5.1, and a seccomp profile that allows them", nil)
		return
	}
	p.ok("memory files", "memfd with F_SEAL_FUTURE_WRITE works", nil)
}
