//go:build !linux

package tcp

import (
	"fmt"
	"runtime"

	"github.com/remora-kv/remora/fabric"
)

// New says that there is no such device: the data path is written for epoll.
func New(Config) (fabric.Device, error) {
	return nil, fmt.Errorf("fabric: tcp: runs on Linux, this is %s: %w", runtime.GOOS, fabric.ErrUnsupported)
}
