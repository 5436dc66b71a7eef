package rocevm

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// What every guest has.
const (
	firstAddress  = "10.77.0.1" // of the guest, or of the server of two
	secondAddress = "10.77.0.2" // of the client of two
	deviceName    = "rxe0"
	agentPackage  = "github.com/remora-kv/remora/test/rocevm/cmd/agent"
)

// Accel is how QEMU runs the guests.
type Accel string

// The ways to run a guest.
const (
	AccelAuto Accel = "auto" // KVM if a probe boot proves it, else TCG
	AccelTCG  Accel = "tcg"
	AccelKVM  Accel = "kvm"
	// AccelCount is TCG with one CPU and a clock that goes on by a nanosecond
	// with every instruction, or with the host's time while the CPU is idle:
	// what a program takes does not depend on what else the host does.
	AccelCount Accel = "icount"
)

// Config says what to boot. The zero value is one guest with everything at its
// default.
type Config struct {
	// Guests is 1 (a veth pair inside it) or 2 (joined by a wire).
	Guests int
	// Memory of each guest in MiB, 2048 by default.
	Memory int
	// CPUs of each guest: by default 2 for one guest, and 1 each for two or
	// with AccelCount.
	CPUs int
	// MTU of the network interface, 1500 by default; RoCE takes the next lower
	// of 256, 512, 1024, 2048 and 4096 bytes below what the headers leave.
	MTU int
	// Accel is AccelAuto by default.
	Accel Accel
	// CacheDir holds the kernel and the base image; by default it is
	// remora/rocevm in the user's cache directory.
	CacheDir string
	// Files go into all guests, with the shared libraries that they need.
	Files []File
	// BootTimeout bounds the boot until the port is active, 2 minutes by default.
	BootTimeout time.Duration
	// Log is told about slow steps and oddities; nil discards.
	Log func(format string, args ...any)
}

// withDefaults fills in what is zero and reports all that is wrong at once.
func (c Config) withDefaults() (Config, error) {
	setDefault(&c.Guests, 1)
	setDefault(&c.Memory, 2048)
	if c.Accel == AccelCount {
		setDefault(&c.CPUs, 1)
	}
	setDefault(&c.CPUs, max(1, 3-c.Guests))
	setDefault(&c.MTU, 1500)
	setDefault(&c.Accel, AccelAuto)
	setDefault(&c.BootTimeout, 2*time.Minute)
	if c.Log == nil {
		c.Log = func(string, ...any) {}
	}
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(c.Guests == 1 || c.Guests == 2, "%d guests: there may be 1 or 2", c.Guests)
	check(c.Memory >= 256 && c.Memory <= 64<<10, "memory of %d MiB: give each guest between 256 and 65536", c.Memory)
	check(c.CPUs >= 1 && c.CPUs <= 64, "%d CPUs: give each guest between 1 and 64", c.CPUs)
	check(c.MTU >= 576 && c.MTU <= 9000, "MTU of %d: choose between 576 and 9000", c.MTU)
	check(slices.Contains([]Accel{AccelAuto, AccelTCG, AccelKVM, AccelCount}, c.Accel), "accelerator %q: choose auto, tcg, kvm or icount", c.Accel)
	check(c.Accel != AccelCount || c.Guests == 1 && c.CPUs == 1, "%d guests with %d CPUs and accelerator icount: instructions are counted in one guest with one CPU", c.Guests, c.CPUs)
	check(c.BootTimeout > 0, "boot timeout of %v: give a positive time", c.BootTimeout)
	for _, f := range c.Files {
		check(f.Host != "" && strings.HasPrefix(f.Guest, "/"), "file %q for %q: name a file of the host and an absolute path in the guest", f.Host, f.Guest)
	}
	if err := errors.Join(errs...); err != nil {
		return c, fmt.Errorf("rocevm: %w", err)
	}
	return c, nil
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
