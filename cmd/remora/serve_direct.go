package main

import (
	"os"
	"strings"
)

// sharedHugePages says when the kernel gives huge pages to shared memory.
const sharedHugePages = "/sys/kernel/mm/transparent_hugepage/shmem_enabled"

// directReadsPay reports whether --direct-reads auto is on. Clients on shared memory gain
// by reading items directly, but without huge pages in memory that clients can map all other
// gets would be slower. The socket must belong to one user, because clients could read keys
// that they do not know.
func directReadsPay(listen []string, engine string, socket os.FileMode, hugePages string) bool {
	if engine != "mica" || len(listen) == 0 || !strings.HasPrefix(listen[0], "shm:") || socket&0o077 != 0 {
		return false
	}
	text, err := os.ReadFile(hugePages)
	if err != nil {
		return false
	}
	for _, word := range []string{"[always]", "[within_size]", "[advise]", "[force]"} {
		if strings.Contains(string(text), word) {
			return true
		}
	}
	return false
}
