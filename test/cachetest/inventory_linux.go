package cachetest

import (
	"bytes"
	"fmt"
	"os"
	"strings"
)

// Inventory is what a process has of the machine.
type Inventory struct {
	Files int   // open descriptors
	Maps  int   // mappings of memory files and anonymous shared memory
	RSS   int64 // bytes of memory
}

// TakeInventory looks at a process.
func TakeInventory(pid int) (Inventory, error) {
	var v Inventory
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		return v, err
	}
	v.Files = len(files)
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return v, err
	}
	for line := range strings.Lines(string(maps)) {
		if strings.Contains(line, "memfd:") || strings.Contains(line, "/dev/zero") {
			v.Maps++
		}
	}
	statm, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return v, err
	}
	var size, resident int64
	if _, err := fmt.Fscan(bytes.NewReader(statm), &size, &resident); err != nil {
		return v, err
	}
	v.RSS = resident * int64(os.Getpagesize())
	return v, nil
}
