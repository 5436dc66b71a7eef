//go:build linux

package arena

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// residentBatch is the number of pages asked about in one system call.
const residentBatch = 1024

// poisonResident poisons the pages of mem that exist (A5): touching the others
// would make the kernel allocate memory only to take it back.
func poisonResident(mem []byte) {
	page := os.Getpagesize()
	var resident [residentBatch]byte
	for len(mem) > 0 {
		batch := mem[:min(len(mem), residentBatch*page)]
		mem = mem[len(batch):]
		known := mincore(batch, &resident)
		for i := 0; len(batch) > 0; i++ {
			p := batch[:min(len(batch), page)]
			batch = batch[len(p):]
			if !known || resident[i]&1 != 0 {
				fill(p, Poison)
				p[0] = Poison // shows the race detector a user of the page
			}
		}
	}
}

// mincore reports whether the kernel said which pages of mem are resident.
func mincore(mem []byte, resident *[residentBatch]byte) bool {
	_, _, errno := unix.Syscall(unix.SYS_MINCORE,
		uintptr(unsafe.Pointer(unsafe.SliceData(mem))), uintptr(len(mem)), uintptr(unsafe.Pointer(resident)))
	return errno == 0
}
