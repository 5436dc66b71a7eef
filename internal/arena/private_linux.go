//go:build !race

package arena

import "golang.org/x/sys/unix"

func allocPrivate(size int) ([]byte, error) {
	return unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
}

func freePrivate(mem []byte) error {
	poisonResident(mem)
	return unix.Munmap(mem)
}
