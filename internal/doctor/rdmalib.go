package doctor

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// probeBinary says whether this binary can do verbs at all.
func probeBinary(p *patient) {
	v := map[string]any{"verbs": p.Verbs}
	if p.Verbs {
		p.ok("this binary", "has the verbs provider", v)
		return
	}
	p.noBinary = "this binary has no verbs provider"
	p.no("this binary", "was built without the verbs provider", "build it with: go build -tags rdma ./cmd/remora", v)
}

// The libraries that the verbs provider opens.
var verbsLibraries = []string{"libibverbs.so.1", "librdmacm.so.1"}

// probeLibraries looks for the RDMA libraries and their drivers.
func probeLibraries(p *patient) {
	v := map[string]any{}
	var there, missing []string
	for _, lib := range verbsLibraries {
		where := p.library(lib)
		v[lib] = where
		if where == "" {
			missing = append(missing, lib)
		} else {
			there = append(there, where)
		}
	}
	const install = "install them: apt-get install libibverbs1 librdmacm1 ibverbs-providers, or dnf install rdma-core libibverbs librdmacm"
	if len(missing) > 0 {
		p.noLibraries = strings.Join(missing, " and ") + " not found"
		p.no("rdma libraries", p.noLibraries, install, v)
		return
	}
	drivers := p.drivers()
	v["drivers"] = drivers
	if len(drivers) == 0 {
		p.noLibraries = "libibverbs has no drivers"
		p.no("rdma libraries", strings.Join(there, ", ")+"; no drivers in /etc/libibverbs.d",
			"libibverbs finds no device without them: apt-get install ibverbs-providers", v)
		return
	}
	p.ok("rdma libraries", fmt.Sprintf("%s; %s", strings.Join(there, ", "), count(len(drivers), "driver")), v)
}

// library returns where the dynamic linker finds a library: by its cache, or
// in the usual directories.
func (p *patient) library(name string) string {
	// The cache holds paths as strings that end with a zero byte.
	cache, _ := fs.ReadFile(p.FS, "etc/ld.so.cache")
	text := string(cache)
	for {
		i := strings.Index(text, "/"+name+"\x00")
		if i < 0 {
			break
		}
		begin := strings.LastIndexByte(text[:i], 0) + 1
		if file := text[begin : i+1+len(name)]; p.exists(strings.TrimPrefix(file, "/")) {
			return file
		}
		text = text[i+1:]
	}
	for _, dir := range p.libraryDirs() {
		if file := path.Join(dir, name); p.exists(file) {
			return "/" + file
		}
	}
	return ""
}

// libraryDirs are where libraries usually are.
func (p *patient) libraryDirs() []string {
	dirs := []string{"usr/local/lib", "lib", "usr/lib", "lib64", "usr/lib64"}
	for _, dir := range []string{"lib", "usr/lib"} {
		for _, name := range p.list(dir) {
			if strings.Contains(name, "-linux-gnu") {
				dirs = append(dirs, path.Join(dir, name))
			}
		}
	}
	return dirs
}

// drivers returns the names of the drivers in the configuration of libibverbs.
func (p *patient) drivers() []string {
	var names []string
	for _, dir := range []string{"etc/libibverbs.d", "usr/etc/libibverbs.d", "usr/local/etc/libibverbs.d"} {
		for _, file := range p.list(dir) {
			if name, ok := strings.CutSuffix(file, ".driver"); ok && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// probeModules looks for the kernel's part. What counts are the device files;
// the modules say why there are none.
func probeModules(p *patient) {
	loaded, available := map[string]string{}, []string{}
	for _, name := range []string{"ib_uverbs", "rdma_ucm", "rdma_rxe"} {
		switch how := p.module(name); how {
		case "":
		case "available":
			available = append(available, name)
		default:
			loaded[name] = how
		}
	}
	v := map[string]any{"loaded": loaded, "available": available}
	var words []string
	for _, name := range sortedKeys(loaded) {
		words = append(words, name+" ("+loaded[name]+")")
	}
	found := or(strings.Join(words, ", "), "none of ib_uverbs, rdma_ucm, rdma_rxe")
	missing := []string{}
	for _, name := range []string{"ib_uverbs", "rdma_ucm"} {
		if loaded[name] == "" {
			missing = append(missing, name)
		}
	}
	switch {
	case len(missing) == 0:
		p.ok("kernel modules", found, v)
	case slices.Contains(available, missing[0]):
		p.no("kernel modules", found, "load them: modprobe -a "+strings.Join(missing, " "), v)
	default:
		p.no("kernel modules", found, "this kernel has no RDMA modules; install those of the distribution's kernel "+
			"(linux-modules-extra, kernel-modules), or use a host that has them", v)
	}
}

// module says how the kernel has a module: loaded, built in or only on disk.
func (p *patient) module(name string) string {
	if text, ok := p.read("proc/modules"); ok {
		for line := range strings.SplitSeq(text, "\n") {
			if strings.HasPrefix(line, name+" ") {
				return "loaded"
			}
		}
	}
	release, _ := p.read("proc/sys/kernel/osrelease")
	dir := path.Join("lib/modules", release)
	file := "/" + name + ".ko"
	if text, _ := p.read(dir + "/modules.builtin"); strings.Contains(text, file) {
		return "built in"
	}
	if p.exists("sys/module/" + name) {
		return "built in"
	}
	if text, _ := p.read(dir + "/modules.dep"); strings.Contains(text, file) {
		return "available"
	}
	return ""
}

// probeNodes looks at the device files and tries to open them.
func probeNodes(p *patient) {
	const dir = "dev/infiniband"
	works, fails, why := []string{}, []string{}, ""
	for _, name := range p.list(dir) {
		if !strings.HasPrefix(name, "uverbs") && name != "rdma_cm" {
			continue
		}
		if err := p.TryOpen("/" + dir + "/" + name); err != nil {
			fails = append(fails, name)
			why = err.Error()
			continue
		}
		works = append(works, name)
	}
	v := map[string]any{"open": works, "refused": fails}
	uverbs := slices.ContainsFunc(works, func(s string) bool { return strings.HasPrefix(s, "uverbs") })
	switch {
	case len(works)+len(fails) == 0:
		next := "no RDMA driver has made devices; see kernel modules. Without an RDMA NIC: modprobe rdma_rxe and " +
			"rdma link add rxe0 type rxe netdev IFACE (Soft-RoCE)"
		if p.container {
			next = "give the container the devices: docker run --device=/dev/infiniband (Kubernetes: an RDMA device plugin)"
		}
		p.noNode = "no device files in /dev/infiniband"
		p.no("rdma device files", "none in /dev/infiniband", next, v)
	case len(fails) > 0:
		p.noNode = "the device files in /dev/infiniband may not be opened"
		if uverbs && slices.Contains(works, "rdma_cm") {
			p.noNode = ""
		}
		p.no("rdma device files", fmt.Sprintf("%s: %s", strings.Join(fails, ", "), why),
			"let the user open them: add it to the group that owns them (often rdma), or chmod 0666 by a udev rule", v)
	case !uverbs || !slices.Contains(works, "rdma_cm"):
		p.noNode = "uverbs or rdma_cm is missing in /dev/infiniband"
		p.no("rdma device files", "only "+strings.Join(works, ", "), "both uverbsN and rdma_cm are needed: modprobe -a ib_uverbs rdma_ucm", v)
	default:
		p.ok("rdma device files", strings.Join(works, ", "), v)
	}
}
