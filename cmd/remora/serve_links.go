package main

import (
	"os"
	"strings"
)

// sharedHugePages says what the kernel does about huge pages of shared memory.
const sharedHugePages = "/sys/kernel/mm/transparent_hugepage/shmem_enabled"

// linksPay reports whether a server that was told nothing about links has them: clients on
// shared memory are who gains by them, and memory that they can map has to be as fast as any
// other. Without huge pages all other gets would pay for links. And clients are of one user: those
// of others would be shown keys that they do not know.
func linksPay(listen []string, engine string, socket os.FileMode, hugePages string) bool {
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
