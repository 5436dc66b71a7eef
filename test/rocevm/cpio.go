package rocevm

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
)

// Types of a file in the mode of a cpio header, as in stat(2).
const (
	cpioDir     = 0o040000
	cpioRegular = 0o100000
	cpioLink    = 0o120000
)

// cpioAlign is what headers, names and contents of the newc format are padded to.
const cpioAlign = 4

// cpioTrailer is the name of the entry that ends an archive.
const cpioTrailer = "TRAILER!!!"

// cpioWriter writes an archive in the newc format, which the kernel unpacks into
// its first root file system. Missing parent directories are added, since the
// kernel drops a file whose directory it has not seen. All files belong to root
// and carry no times, so that equal content gives equal bytes.
type cpioWriter struct {
	w     io.Writer
	inode int
	dirs  map[string]bool
	off   int64
	err   error
}

func newCPIOWriter(w io.Writer) *cpioWriter {
	return &cpioWriter{w: w, dirs: map[string]bool{".": true}}
}

// dir adds a directory, unless it is there.
func (c *cpioWriter) dir(name string) error {
	name = cpioName(name)
	if c.dirs[name] {
		return c.err
	}
	c.parents(name)
	c.dirs[name] = true
	c.entry(name, cpioDir|0o755, 0, nil)
	return c.err
}

// file adds a regular file of size bytes from r.
func (c *cpioWriter) file(name string, perm fs.FileMode, size int64, r io.Reader) error {
	name = cpioName(name)
	c.parents(name)
	c.entry(name, cpioRegular|uint32(perm.Perm()), size, r)
	return c.err
}

// bytes adds a regular file with the content given.
func (c *cpioWriter) bytes(name string, perm fs.FileMode, content []byte) error {
	return c.file(name, perm, int64(len(content)), strings.NewReader(string(content)))
}

// copy adds a regular file of the host, following symbolic links.
func (c *cpioWriter) copy(name, host string) error {
	f, err := os.Open(host)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("rocevm: %s is not a regular file", host)
	}
	return c.file(name, info.Mode(), info.Size(), f)
}

// link adds a symbolic link.
func (c *cpioWriter) link(name, target string) error {
	name = cpioName(name)
	c.parents(name)
	c.entry(name, cpioLink|0o777, int64(len(target)), strings.NewReader(target))
	return c.err
}

// close ends the archive. The writer below stays open: another archive may
// follow, and the kernel unpacks one after the other.
func (c *cpioWriter) close() error {
	c.entry(cpioTrailer, 0, 0, nil)
	return c.err
}

func (c *cpioWriter) parents(name string) {
	if parent := path.Dir(name); !c.dirs[parent] {
		_ = c.dir(parent) // c.err keeps the error
	}
}

// cpioName makes a path relative to the root.
func cpioName(name string) string {
	return strings.TrimPrefix(path.Clean("/"+name), "/")
}

func (c *cpioWriter) entry(name string, mode uint32, size int64, content io.Reader) {
	if c.err != nil {
		return
	}
	if size >= 1<<32 {
		c.err = fmt.Errorf("rocevm: %s has %d bytes; a cpio archive holds files below 4 GiB", name, size)
		return
	}
	c.inode++
	links := 1
	if mode&cpioDir == cpioDir && mode&cpioRegular != cpioRegular {
		links = 2
	}
	// magic, inode, mode, uid, gid, links, time, size, device (2), special
	// device (2), length of the name with its zero byte, checksum.
	header := fmt.Sprintf("070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x",
		c.inode, mode, 0, 0, links, 0, size, 0, 0, 0, 0, len(name)+1, 0)
	c.write(strings.NewReader(header+name+"\x00"), int64(len(header)+len(name)+1))
	c.pad()
	if size > 0 {
		c.write(content, size)
		c.pad()
	}
	if c.err != nil {
		c.err = fmt.Errorf("rocevm: add %s to the image: %w", name, c.err)
	}
}

func (c *cpioWriter) write(r io.Reader, n int64) {
	if c.err != nil {
		return
	}
	_, c.err = io.CopyN(c.w, r, n)
	c.off += n
}

func (c *cpioWriter) pad() {
	if rest := c.off % cpioAlign; rest != 0 {
		c.write(strings.NewReader("\x00\x00\x00"), cpioAlign-rest)
	}
}
