//go:build !linux

package arena

import (
	"errors"
	"fmt"
	"runtime"
)

var errNoMemoryFiles = fmt.Errorf("sealed memory files exist on Linux only, this is %s: %w", runtime.GOOS, errors.ErrUnsupported)

func allocShared(string, int, Seal) (mem []byte, fd int, err error) { return nil, -1, errNoMemoryFiles }

func freeShared([]byte, int) error { return errNoMemoryFiles }

func mapForeign(int, int, bool) ([]byte, error) { return nil, errNoMemoryFiles }

func freeForeign([]byte) error { return errNoMemoryFiles }

func adviseHuge([]byte) bool { return false }
