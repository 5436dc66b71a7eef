package server

import (
	"bytes"
	"cmp"
	"os"
	"runtime/metrics"
	"slices"
	"strconv"
)

// Memory is what one purpose takes of the process's memory: Bytes as they were asked for, and
// Resident those of them in RAM.
type Memory struct {
	Purpose  string `json:"purpose"`
	Bytes    int64  `json:"bytes"`
	Resident int64  `json:"resident"`
}

// memory returns the resident set of the process, 0 if the system does not say, and what it is used
// for: items, what devices have for clients and buffers, the program, and Go. What is beyond what the
// Go runtime says it has is other memory, such as that of C libraries. Purposes of several devices
// are added up.
func (s *Server) memory() (rss int64, all []Memory) {
	for _, u := range s.arena.Resident() {
		all = append(all, Memory{u.Purpose, u.Bytes, u.Resident})
	}
	heap := int64(0) // of the Go heap, under another name
	byPurpose := make(map[string]Memory)
	for _, dev := range s.devices {
		for _, u := range dev.Memory() {
			m := byPurpose[u.Purpose]
			byPurpose[u.Purpose] = Memory{u.Purpose, m.Bytes + u.Bytes, m.Resident + u.Resident}
			if u.Heap {
				heap += u.Resident
			}
		}
	}
	for _, l := range s.text.listeners {
		m := byPurpose["text buffers"]
		n := l.Stats().Buffers
		byPurpose["text buffers"] = Memory{"text buffers", m.Bytes + n, m.Resident + n}
		heap += n
	}
	for _, m := range byPurpose {
		all = append(all, m)
	}
	rss, files := residentSet()
	all = append(all, Memory{"program", files, files})
	rest := rss
	for _, m := range all {
		rest -= m.Resident
	}
	// The runtime knows how much it has, and not what of it was never touched.
	has := goMemory() - heap
	if rss == 0 {
		rest = has
	}
	inGo := max(min(rest, has), 0)
	all = append(all, Memory{"Go", has, inGo})
	if rest > inGo {
		all = append(all, Memory{"other", rest - inGo, rest - inGo})
	}
	slices.SortFunc(all, func(a, b Memory) int {
		return cmp.Or(cmp.Compare(b.Resident, a.Resident), cmp.Compare(a.Purpose, b.Purpose))
	})
	return rss, all
}

// goMemory returns what the Go runtime has of the system and has not returned: heap, stacks and its own.
func goMemory() int64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return int64(samples[0].Value.Uint64() - samples[1].Value.Uint64())
}

// residentSet returns the resident set of the process, and what of it are pages of files: the program
// and its libraries.
func residentSet() (rss, files int64) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, 0
	}
	return statusField(status, "VmRSS:"), statusField(status, "RssFile:")
}

// statusField returns a field of /proc/self/status in bytes, 0 if it is missing.
func statusField(status []byte, name string) int64 {
	for line := range bytes.Lines(status) {
		if f := bytes.Fields(line); len(f) == 3 && string(f[0]) == name {
			kib, _ := strconv.ParseInt(string(f[1]), 10, 64)
			return kib << 10
		}
	}
	return 0
}
