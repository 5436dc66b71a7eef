//go:build !linux

package doctor

import (
	"errors"
	"runtime"
)

// system fills in what can be known without Linux.
func (h *Host) system() {
	h.Memlock = Unlimited
	for cpu := range runtime.NumCPU() {
		h.CPUs = append(h.CPUs, cpu)
	}
	h.TryMemfd = func() error { return errors.New("memory files need Linux") }
}
