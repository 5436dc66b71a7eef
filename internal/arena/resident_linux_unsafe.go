//go:build linux

package arena

import (
	"encoding/binary"
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

// pagemap tells which pages of this process are in RAM. A nil file knows nothing.
type pagemap struct {
	file    *os.File
	entries []byte
}

func openPagemap() *pagemap {
	f, err := os.Open("/proc/self/pagemap")
	if err != nil {
		return &pagemap{}
	}
	return &pagemap{file: f, entries: make([]byte, 64<<10)}
}

func (p *pagemap) close() {
	if p.file != nil {
		_ = p.file.Close()
	}
}

// Bits of an entry of pagemap (Documentation/admin-guide/mm/pagemap.rst). A page that is
// present and mapped by nobody else is no zero page, which a load of an untouched page maps
// and the resident set does not count.
const (
	pagePresent   = 1 << 63
	pageExclusive = 1 << 56
)

// resident returns how many bytes of mem are in the resident set, or all if the kernel does not
// say. It does not touch mem.
func (p *pagemap) resident(mem []byte, shared bool) (n int64) {
	want := uint64(pagePresent | pageExclusive)
	if shared {
		want = pagePresent
	}
	page := uintptr(os.Getpagesize())
	first := uintptr(unsafe.Pointer(unsafe.SliceData(mem))) / page
	pages := (uintptr(len(mem)) + page - 1) / page
	for done := uintptr(0); done < pages; {
		if p.file == nil {
			return int64(len(mem))
		}
		b := p.entries[:min(uintptr(len(p.entries)), 8*(pages-done))]
		k, err := p.file.ReadAt(b, int64(8*(first+done)))
		if k < 8 {
			return int64(len(mem))
		}
		for i := 0; i+8 <= k; i += 8 {
			if binary.NativeEndian.Uint64(b[i:])&want == want {
				n += int64(page)
			}
		}
		done += uintptr(k / 8)
		_ = err // a short read goes on where it ended
	}
	return n
}
