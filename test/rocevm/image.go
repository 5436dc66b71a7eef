package rocevm

import (
	"context"
	"crypto/sha256"
	_ "embed" // the init script
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

//go:embed init.sh
var initScript []byte

// guestTools are the programs of the host that every guest has.
var guestTools = []string{
	"ip", "rdma", "tc",
	"ibv_devices", "ibv_devinfo", "ibv_rc_pingpong", "ibv_uc_pingpong", "ibv_ud_pingpong", "ibv_srq_pingpong",
	"rping", "ucmatose", "udaddy",
	"ib_read_lat", "ib_write_lat", "ib_send_lat", "ib_atomic_lat",
	"ib_read_bw", "ib_write_bw", "ib_send_bw", "ib_atomic_bw",
}

// extraLibraries are loaded by name at run time, so that ldd does not list them.
var extraLibraries = []string{"libgcc_s.so.1", "libibverbs.so.1", "librdmacm.so.1"}

const (
	libraryDir  = "/lib/x86_64-linux-gnu"
	providerDir = "/usr/lib/x86_64-linux-gnu/libibverbs"
	driverFile  = "/etc/libibverbs.d/rxe.driver"
)

// initrdAlign is where one archive may begin behind another.
const initrdAlign = 512

// etcFiles make the guest look like a machine to C libraries.
var etcFiles = map[string]string{
	"/etc/passwd":        "root:x:0:0:root:/root:/bin/sh\n",
	"/etc/group":         "root:x:0:\n",
	"/etc/hosts":         "127.0.0.1 localhost\n" + firstAddress + " server guest\n" + secondAddress + " client\n",
	"/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
}

// File is a file or directory of the host and its place in the guests.
type File struct {
	Host, Guest string
}

// ParseFile reads "host:guest"; without a colon, the file goes to the root
// directory of the guests under its own name.
func ParseFile(text string) (File, error) {
	host, guest, found := strings.Cut(text, ":")
	if !found {
		guest = "/" + filepath.Base(host)
	}
	if host == "" || !strings.HasPrefix(guest, "/") {
		return File{}, fmt.Errorf("rocevm: file %q: write host-path:/guest/path", text)
	}
	return File{Host: host, Guest: guest}, nil
}

// base is the part of the image that all runs share.
type base struct {
	path  string          // the archive, in the cache
	files map[string]bool // paths in the guest
}

// base returns the archive with modules, tools and libraries for a kernel.
func (c *cache) base(ctx context.Context, k *kernel) (*base, error) {
	files, err := baseFiles(ctx, k)
	if err != nil {
		return nil, err
	}
	key, err := baseKey(k, files)
	if err != nil {
		return nil, err
	}
	b := &base{files: make(map[string]bool)}
	for _, f := range files {
		b.files[f.Guest] = true
	}
	dir, err := c.entry("base", key, func(dir string) error {
		c.log("building the base image")
		return writeBase(filepath.Join(dir, "base.cpio"), files)
	})
	if err != nil {
		return nil, err
	}
	c.prune("base", key)
	b.path = filepath.Join(dir, "base.cpio")
	return b, nil
}

// baseFiles lists the files of the host that go into the base.
func baseFiles(ctx context.Context, k *kernel) ([]File, error) {
	busybox, err := lookTool("busybox")
	if err != nil {
		return nil, err
	}
	if dynamic(busybox) {
		return nil, fmt.Errorf("rocevm: %s is not static; run script/deps rdma for busybox-static", busybox)
	}
	// The shell is not busybox's, which prefers its own ip and tc to the real ones.
	shell, err := lookTool("dash")
	if err != nil {
		return nil, err
	}
	files := []File{{Host: busybox, Guest: "/bin/busybox"}, {Host: shell, Guest: "/bin/sh"}, {Host: driverFile, Guest: driverFile}}
	programs := []string{shell}
	for _, tool := range guestTools {
		host, err := lookTool(tool)
		if err != nil {
			return nil, err
		}
		programs = append(programs, host)
		files = append(files, File{Host: host, Guest: "/usr/bin/" + tool})
	}
	plugins, err := filepath.Glob(filepath.Join(providerDir, "librxe-rdmav*.so"))
	if err != nil || len(plugins) == 0 {
		return nil, fmt.Errorf("rocevm: no librxe-rdmav*.so in %s; run script/deps rdma for ibverbs-providers", providerDir)
	}
	for _, library := range extraLibraries {
		plugins = append(plugins, filepath.Join(libraryDir, library))
	}
	for _, p := range plugins {
		files = append(files, File{Host: p, Guest: p})
	}
	libraries, err := sharedLibraries(ctx, append(programs, plugins...))
	if err != nil {
		return nil, err
	}
	for _, p := range libraries {
		files = append(files, File{Host: p, Guest: p})
	}
	modules, err := below(k.modules+"/lib", "/lib")
	if err != nil {
		return nil, err
	}
	return distinct(append(files, modules...)), nil
}

// distinct sorts files by their place in the guest and drops repetitions.
func distinct(files []File) []File {
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Guest, b.Guest) })
	return slices.CompactFunc(files, func(a, b File) bool { return a.Guest == b.Guest })
}

// lookTool finds a program in PATH or where Debian puts those of root.
func lookTool(name string) (string, error) {
	for _, dir := range []string{"", "/usr/sbin/", "/sbin/"} {
		if p, err := exec.LookPath(dir + name); err == nil {
			return p, nil
		}
	}
	return "", fmt.Errorf("rocevm: no %s on this host; run script/deps rdma", name)
}

// below lists the regular files of a directory with their places in the guest.
func below(host, guest string) ([]File, error) {
	var files []File
	err := filepath.WalkDir(host, func(p string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		rest, err := filepath.Rel(host, p)
		files = append(files, File{Host: p, Guest: filepath.Join(guest, rest)})
		return err
	})
	return files, err
}

// baseKey changes with any of the files, as far as name, size and time tell.
func baseKey(k *kernel, files []File) (string, error) {
	sum := sha256.New()
	fmt.Fprintln(sum, k.key, string(initScript), etcFiles)
	for _, f := range files {
		info, err := os.Stat(f.Host)
		if err != nil {
			return "", err
		}
		fmt.Fprintln(sum, f.Guest, f.Host, info.Size(), info.ModTime().UnixNano())
	}
	return hex.EncodeToString(sum.Sum(nil)[:8]), nil
}

func writeBase(path string, files []File) error {
	return writeFile(path, func(w io.Writer) error {
		c := newCPIOWriter(w)
		for _, dir := range []string{"/proc", "/sys", "/dev", "/run", "/tmp", "/root", "/bin", "/sbin"} {
			if err := c.dir(dir); err != nil {
				return err
			}
		}
		if err := c.bytes("/init", 0o755, initScript); err != nil {
			return err
		}
		for _, name := range slices.Sorted(maps.Keys(etcFiles)) {
			if err := c.bytes(name, 0o644, []byte(etcFiles[name])); err != nil {
				return err
			}
		}
		for _, f := range files {
			if err := c.copy(f.Guest, f.Host); err != nil {
				return err
			}
		}
		return c.close()
	})
}

// payloadFiles lists what a run adds to the base: the agent, the files asked
// for, and the libraries that they need and the base lacks.
func payloadFiles(ctx context.Context, b *base, agentPath string, asked []File) ([]File, error) {
	files := []File{{Host: agentPath, Guest: "/usr/bin/rocevm-agent"}}
	for _, f := range asked {
		info, err := os.Stat(f.Host)
		if err != nil {
			return nil, fmt.Errorf("rocevm: file for the guest: %w", err)
		}
		if !info.IsDir() {
			files = append(files, f)
			continue
		}
		inside, err := below(f.Host, f.Guest)
		if err != nil {
			return nil, err
		}
		files = append(files, inside...)
	}
	var hosts []string
	for _, f := range files {
		hosts = append(hosts, f.Host)
	}
	libraries, err := sharedLibraries(ctx, hosts)
	if err != nil {
		return nil, err
	}
	for _, p := range libraries {
		if !b.files[p] {
			files = append(files, File{Host: p, Guest: p})
		}
	}
	return distinct(files), nil
}

// writeInitrd writes the base and an archive with the payload behind it.
func writeInitrd(path string, b *base, payload []File) error {
	return writeFile(path, func(w io.Writer) error {
		in, err := os.Open(b.path)
		if err != nil {
			return err
		}
		defer in.Close()
		n, err := io.Copy(w, in)
		if err != nil {
			return err
		}
		if _, err := w.Write(make([]byte, (initrdAlign-n%initrdAlign)%initrdAlign)); err != nil {
			return err
		}
		c := newCPIOWriter(w)
		for _, f := range payload {
			if err := c.copy(f.Guest, f.Host); err != nil {
				return err
			}
		}
		return c.close()
	})
}

func writeFile(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
