package rocevm

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// kernelLayout changes when the content of a cached kernel does.
const kernelLayout = "2"

// metaPackage depends on the newest kernel of the distribution.
const metaPackage = "linux-image-amd64"

// kernel is a kernel and the modules for guests, in the cache.
type kernel struct {
	key     string // name of the cache entry
	release string // such as 6.1.0-38-amd64
	image   string // path of the kernel for QEMU
	modules string // path of a root with lib/modules/release
}

var kernelDepends = regexp.MustCompile(`(?m)^Depends:.*\b(linux-image-(\d\S*-amd64)) \(= ([^)\s]+)\)`)

// kernelPackage is what apt knows about the kernel to use.
type kernelPackage struct {
	name, release, version string
}

// parseKernelPackage reads the first stanza of `apt-cache show linux-image-amd64`,
// that of the candidate.
func parseKernelPackage(show string) (kernelPackage, error) {
	m := kernelDepends.FindStringSubmatch(show)
	if m == nil {
		return kernelPackage{}, fmt.Errorf("rocevm: apt knows no kernel in %s; run apt-get update (script/deps rdma does)", metaPackage)
	}
	return kernelPackage{name: m[1], release: m[2], version: m[3]}, nil
}

// key names the entry of a kernel with a set of modules.
func (p kernelPackage) key(modules []string) string {
	sum := sha256.Sum256([]byte(kernelLayout + " " + strings.Join(modules, " ")))
	return p.release + "_" + strings.ReplaceAll(p.version, ":", "_") + "_" + hex.EncodeToString(sum[:4])
}

// kernel returns the kernel that apt would install, from the cache or from a
// download. Without package lists or network, the newest of the cache serves.
func (c *cache) kernel(ctx context.Context) (*kernel, error) {
	show, err := output(ctx, "", "apt-cache", "show", metaPackage)
	var p kernelPackage
	if err == nil {
		p, err = parseKernelPackage(show)
	}
	if err == nil {
		var dir string
		dir, err = c.entry("kernel", p.key(guestModules), func(dir string) error { return c.unpack(ctx, p, dir) })
		if err == nil {
			c.prune("kernel", filepath.Base(dir))
			return openKernel(dir)
		}
	}
	if ctx.Err() != nil {
		return nil, err
	}
	names := c.names("kernel")
	if len(names) == 0 {
		return nil, err
	}
	slices.Sort(names)
	last := names[len(names)-1]
	c.log("using the cached kernel %s: %v", last, err)
	return openKernel(filepath.Join(c.dir, "kernel", last))
}

func openKernel(dir string) (*kernel, error) {
	release, _, _ := strings.Cut(filepath.Base(dir), "_")
	k := &kernel{key: filepath.Base(dir), release: release, image: filepath.Join(dir, "kernel"), modules: dir}
	if _, err := os.Stat(k.image); err != nil {
		return nil, fmt.Errorf("rocevm: the cache is damaged: %w; remove %s", err, dir)
	}
	return k, nil
}

// unpack downloads the package and leaves kernel and lib/modules in dir.
func (c *cache) unpack(ctx context.Context, p kernelPackage, dir string) error {
	c.log("downloading %s %s", p.name, p.version)
	work, err := os.MkdirTemp(c.dir, "making-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if _, err := output(ctx, work, "apt-get", "download", "-q", p.name+"="+p.version); err != nil {
		return fmt.Errorf("%w\nrun apt-get update as root (script/deps rdma does) if the package lists are old", err)
	}
	debs, err := filepath.Glob(filepath.Join(work, "*.deb"))
	if err != nil || len(debs) != 1 {
		return fmt.Errorf("rocevm: apt-get download left %d packages in %s, not one", len(debs), work)
	}
	c.log("unpacking %s", p.name)
	root := filepath.Join(work, "root")
	if _, err := output(ctx, "", "dpkg-deb", "-x", debs[0], root); err != nil {
		return err
	}
	bzImage, image := filepath.Join(root, "boot", "vmlinuz-"+p.release), filepath.Join(dir, "kernel")
	if err := unpackKernel(ctx, bzImage, image); err != nil {
		c.log("the guests will unpack their kernel themselves, which takes longer: %v", err)
		if err := copyFile(image, bzImage); err != nil {
			return err
		}
	}
	return copyModules(ctx, p.release, root, dir)
}

// copyModules takes the modules for guests, with what they need, from one root
// to another and indexes them there for modprobe.
func copyModules(ctx context.Context, release, from, to string) error {
	if _, err := output(ctx, "", "depmod", "-b", from, release); err != nil {
		return err
	}
	modules := filepath.Join(from, "lib", "modules", release)
	depFile, err := os.Open(filepath.Join(modules, "modules.dep"))
	if err != nil {
		return err
	}
	defer depFile.Close()
	deps, err := parseModulesDep(depFile)
	if err != nil {
		return err
	}
	builtin, err := os.ReadFile(filepath.Join(modules, "modules.builtin"))
	if err != nil {
		return err
	}
	paths, err := deps.closure(guestModules, parseBuiltin(string(builtin)))
	if err != nil {
		return err
	}
	target := filepath.Join(to, "lib", "modules", release)
	for _, p := range append(paths, "modules.builtin", "modules.builtin.modinfo", "modules.order") {
		if err := copyFile(filepath.Join(target, p), filepath.Join(modules, p)); err != nil {
			return err
		}
	}
	_, err = output(ctx, "", "depmod", "-b", to, release)
	return err
}

func copyFile(to, from string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}
