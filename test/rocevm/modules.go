package rocevm

import (
	"bufio"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
)

// guestModules are the modules that a guest may load, by name. What they depend
// on comes along.
var guestModules = []string{
	"virtio_pci", "virtio_console", "virtio_net", // the machine's devices
	"veth", "dummy", // networks inside one guest
	"crc32_generic", "ib_uverbs", "rdma_rxe", "rdma_ucm", // Soft-RoCE
	"sch_netem", "sch_tbf", "sch_prio", "cls_u32", // loss, delay, rate
}

// moduleDeps is a modules.dep: which modules a module needs, by path.
type moduleDeps struct {
	needs  map[string][]string // path of a module: paths of what it needs
	byName map[string]string   // name of a module: its path
}

// parseModulesDep reads lines of the form "path/a.ko: path/b.ko path/c.ko".
func parseModulesDep(r io.Reader) (*moduleDeps, error) {
	d := &moduleDeps{needs: make(map[string][]string), byName: make(map[string]string)}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		text := strings.TrimSpace(lines.Text())
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		module, needs, found := strings.Cut(text, ":")
		if !found {
			return nil, fmt.Errorf("rocevm: line %d of modules.dep has no colon: %q", n, text)
		}
		d.needs[module] = strings.Fields(needs)
		d.byName[moduleName(module)] = module
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("rocevm: read modules.dep: %w", err)
	}
	return d, nil
}

// moduleName is the name that modprobe knows a path by: the two spellings with
// "-" and "_" are one name.
func moduleName(p string) string {
	name, _, _ := strings.Cut(path.Base(p), ".ko")
	return strings.ReplaceAll(name, "-", "_")
}

// closure returns the paths of the modules named and of all that they need,
// sorted. Names in builtin are part of the kernel and have no file.
func (d *moduleDeps) closure(names []string, builtin map[string]bool) ([]string, error) {
	seen := make(map[string]bool)
	var missing []string
	var add func(p string)
	add = func(p string) {
		if seen[p] {
			return
		}
		seen[p] = true
		for _, need := range d.needs[p] {
			add(need)
		}
	}
	for _, name := range names {
		p, found := d.byName[moduleName(name)]
		switch {
		case found:
			add(p)
		case !builtin[moduleName(name)]:
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("rocevm: the kernel package has no module %s; use Debian's linux-image-amd64, not its cloud variant", strings.Join(missing, ", "))
	}
	paths := make([]string, 0, len(seen))
	for p := range seen {
		paths = append(paths, p)
	}
	slices.Sort(paths)
	return paths, nil
}

// parseBuiltin reads a modules.builtin: one path per line.
func parseBuiltin(text string) map[string]bool {
	builtin := make(map[string]bool)
	for p := range strings.FieldsSeq(text) {
		builtin[moduleName(p)] = true
	}
	return builtin
}
