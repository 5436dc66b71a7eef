// Command agent is the program that rocevm runs in its guests. It is of no use
// anywhere else: at its end it powers the machine off.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/remora-kv/remora/test/rocevm/agent"
)

// failure is where the init script of the guest says what it could not do.
const failure = "/run/rocevm.failure"

func main() {
	if os.Getenv("ROCEVM_GUEST") == "" {
		fmt.Fprintln(os.Stderr, "agent: this program runs inside a guest of rocevm only; use go run ./test/rocevm/cmd/rocevm")
		os.Exit(2)
	}
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	if err := syscall.Reboot(syscall.LINUX_REBOOT_CMD_POWER_OFF); err != nil {
		fmt.Fprintln(os.Stderr, "agent: power off:", err)
		os.Exit(1)
	}
}

func serve() error {
	path, err := port()
	if err != nil {
		return err
	}
	conn, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("agent: open the port to the host: %w", err)
	}
	defer conn.Close()
	return agent.Serve(context.Background(), conn, hello())
}

// port finds the device of the virtio-serial port by its name.
func port() (string, error) {
	names, err := filepath.Glob("/sys/class/virtio-ports/*/name")
	if err != nil {
		return "", err
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err == nil && strings.TrimSpace(string(text)) == agent.PortName {
			return filepath.Join("/dev", filepath.Base(filepath.Dir(name))), nil
		}
	}
	return "", fmt.Errorf("agent: no virtio-serial port named %s; is virtio_console loaded?", agent.PortName)
}

func hello() agent.Event {
	var e agent.Event
	if text, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		e.Text = strings.TrimSpace(string(text))
	}
	if text, err := os.ReadFile("/proc/uptime"); err == nil {
		seconds, _, _ := strings.Cut(string(text), " ")
		uptime, _ := time.ParseDuration(seconds + "s") // zero is not checked
		e.Uptime = int64(uptime)
	}
	if text, err := os.ReadFile(failure); err == nil {
		e.Error = strings.TrimSpace(string(text))
	}
	return e
}
