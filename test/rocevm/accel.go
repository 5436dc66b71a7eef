package rocevm

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// kvmProbeTime is how long a probe boot under KVM may take. A working one needs
// about a second; one that hangs would hang forever.
const kvmProbeTime = 6 * time.Second

// chooseAccel returns KVM if a guest really boots under it on this host: that
// /dev/kvm can be opened proves nothing. The answer is kept until the next boot
// of the host.
func (c *cache) chooseAccel(ctx context.Context, k *kernel, initrd string) Accel {
	device, err := os.OpenFile("/dev/kvm", os.O_RDWR, 0)
	if err != nil {
		return AccelTCG
	}
	device.Close()
	answer := AccelTCG
	dir, err := c.entry("accel", hostKey(ctx), func(dir string) error {
		if c.probeKVM(ctx, k, initrd) {
			answer = AccelKVM
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		c.log("the probe boot under KVM chose %s for this host", answer)
		return os.WriteFile(filepath.Join(dir, "answer"), []byte(answer), 0o644)
	})
	if err != nil {
		return AccelTCG
	}
	c.prune("accel", filepath.Base(dir))
	if text, err := os.ReadFile(filepath.Join(dir, "answer")); err == nil && Accel(text) == AccelKVM {
		return AccelKVM
	}
	return AccelTCG
}

// hostKey changes when the host boots and when QEMU does.
func hostKey(ctx context.Context) string {
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // without it, QEMU alone is the key
	version, _ := output(ctx, "", qemuProgram, "--version")
	sum := sha256.Sum256([]byte(strings.TrimSpace(string(boot)) + version))
	return hex.EncodeToString(sum[:8])
}

// probeKVM boots as far as the agent, and no further.
func (c *cache) probeKVM(ctx context.Context, k *kernel, initrd string) bool {
	ctx, cancel := context.WithTimeout(ctx, kvmProbeTime)
	defer cancel()
	g := &Guest{Name: "probe"}
	err := connect(ctx, machineConfig{
		name: g.Name, kernel: k.image, initrd: initrd, accel: AccelKVM, memory: 512, cpus: 1,
		params: map[string]string{"guest": g.Name, "bare": "1"},
	}, g)
	if err != nil {
		return false
	}
	g.powerOff()
	return true
}
