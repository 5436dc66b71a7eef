package doctor

import (
	"fmt"
	"strings"
)

// probeKernel says what runs here.
func probeKernel(p *patient) {
	if p.OS != "linux" {
		p.warn("kernel", p.OS+", "+p.Arch, "shm and verbs need Linux; loop and tcp work", map[string]any{"os": p.OS, "arch": p.Arch})
		return
	}
	release, ok := p.read("proc/sys/kernel/osrelease")
	v := map[string]any{"os": p.OS, "arch": p.Arch, "release": release}
	found := fmt.Sprintf("Linux %s, %s", release, p.Arch)
	var major, minor int
	if n, _ := fmt.Sscanf(release, "%d.%d", &major, &minor); !ok || n != 2 {
		p.warn("kernel", "Linux of unknown version, "+p.Arch, "/proc/sys/kernel/osrelease cannot be read; is /proc mounted?", v)
		return
	}
	if major < 5 || (major == 5 && minor < 1) {
		p.warn("kernel", found, "shm seals memory against its readers with F_SEAL_FUTURE_WRITE, which came with Linux 5.1", v)
		return
	}
	p.ok("kernel", found, v)
}

// probeContainer says whether limits may be those of a container.
func probeContainer(p *patient) {
	kind := p.containerKind()
	if kind == "" {
		p.ok("container", "none seen", nil)
		return
	}
	p.container = true
	p.ok("container", kind, map[string]any{"kind": kind})
}

func (p *patient) containerKind() string {
	switch {
	case p.Getenv("KUBERNETES_SERVICE_HOST") != "":
		return "kubernetes"
	case p.exists("run/.containerenv"):
		return "podman"
	case p.exists(".dockerenv"):
		return "docker"
	case p.Getenv("container") != "":
		return p.Getenv("container")
	}
	groups, _ := p.read("proc/1/cgroup")
	if strings.Contains(groups, "kubepods") {
		return "kubernetes"
	}
	for _, name := range []string{"docker", "containerd", "lxc"} {
		if strings.Contains(groups, name) {
			return name
		}
	}
	return ""
}
