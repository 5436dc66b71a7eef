package target

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// Program is a server program.
type Program struct {
	name, debian string // of the program, and of the package that it is in
	// question is answered by lines, of which one begins with pid and goes on with
	// the process id, and one likewise with the version.
	question, pid, version string
	args                   func(c *ForeignConfig, address string) []string
	inventory              func() inventory
}

// MemcachedProgram is memcached.
func MemcachedProgram() Program {
	return Program{
		name: "memcached", debian: "memcached",
		question: "stats\r\n", pid: "STAT pid ", version: "STAT version ",
		args: memcachedArgs, inventory: memcachedInventory,
	}
}

func memcachedArgs(c *ForeignConfig, address string) []string {
	args := []string{"-s", address, "-a", "0700"}
	if c.Network == NetTCP {
		host, port, _ := net.SplitHostPort(address)
		args = []string{"-l", host, "-p", port}
	}
	if os.Geteuid() == 0 {
		// Root must say whom to become. Whoever becomes somebody else loses the
		// signal that ends it with this process.
		args = append(args, "-u", "root")
	}
	if c.Threads != 0 {
		args = append(args, "-t", strconv.Itoa(c.Threads))
	}
	if c.Memory != 0 {
		args = append(args, "-m", strconv.FormatInt((c.Memory+1<<20-1)>>20, 10))
	}
	return args
}

// RedisProgram is redis-server, without persistence.
func RedisProgram() Program {
	return Program{
		name: "redis-server", debian: "redis-server",
		question: "INFO server\r\n", pid: "process_id:", version: "redis_version:",
		args: redisArgs, inventory: redisInventory,
	}
}

func redisArgs(c *ForeignConfig, address string) []string {
	args := []string{"--port", "0", "--unixsocket", address, "--unixsocketperm", "700"}
	if c.Network == NetTCP {
		host, port, _ := net.SplitHostPort(address)
		args = []string{"--bind", host, "--port", port}
	}
	args = append(args, "--save", "", "--appendonly", "no", "--daemonize", "no")
	if c.Threads > 1 {
		args = append(args, "--io-threads", strconv.Itoa(c.Threads), "--io-threads-do-reads", "yes")
	}
	if c.Memory != 0 {
		args = append(args, "--maxmemory", strconv.FormatInt(c.Memory, 10), "--maxmemory-policy", "allkeys-lru")
	}
	return args
}

// ErrMissing is wrapped when a program is not installed.
var ErrMissing = errors.New("not installed")

// find returns the path of the program.
func (p *Program) find() (string, error) {
	path, err := exec.LookPath(p.name)
	if err != nil {
		return "", fmt.Errorf("%s is %w: install the Debian package %s, or run make deps (%w)", p.name, ErrMissing, p.debian, err)
	}
	return path, nil
}

// identify asks who listens.
func (p *Program) identify(rw io.ReadWriter) (pid int, version string, err error) {
	if _, err := io.WriteString(rw, p.question); err != nil {
		return 0, "", err
	}
	lines := bufio.NewScanner(rw)
	for pid == 0 || version == "" {
		if !lines.Scan() {
			return 0, "", errors.Join(io.ErrUnexpectedEOF, lines.Err())
		}
		if s, ok := strings.CutPrefix(lines.Text(), p.version); ok {
			version = s
		}
		if s, ok := strings.CutPrefix(lines.Text(), p.pid); ok {
			if pid, err = strconv.Atoi(s); err != nil {
				return 0, "", fmt.Errorf("%s says its process id is %q", p.name, s)
			}
		}
	}
	return pid, version, nil
}
