package keli

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/crc32c"
	"github.com/remora-kv/remora/kvl"
)

func sampleSuperblock() superblock {
	return superblock{
		generation: 7, directory: fabric.Remote{Addr: 4096, Key: 3}, length: 100,
		lease: time.Second, instance: 99,
	}
}

func sampleDirectory() directory {
	return directory{
		generation: 7, schema: []byte("schema"),
		areas: []area{{fabric.Remote{Addr: 4096, Key: 1}, 100}, {fabric.Remote{Addr: 1 << 40, Key: 2}, 1 << 30}},
	}
}

func TestSuperblockBytes(t *testing.T) {
	b := sampleSuperblock()
	mem := make([]byte, superblockSize)
	b.publish(mem)
	if got, err := parseSuperblock(mem); err != nil || got != b {
		t.Errorf("%+v became %+v, %v", b, got, err)
	}
	for at := range mem {
		changing := bytes.Clone(mem)
		changing[at]++
		if _, err := parseSuperblock(changing); !errors.Is(err, errChanging) {
			t.Errorf("a superblock whose byte %d changes: %v", at, err)
		}
	}
}

func FuzzParseSuperblock(f *testing.F) {
	b := sampleSuperblock()
	mem := make([]byte, superblockSize)
	b.publish(mem)
	f.Add(mem, false)
	f.Add(mem, true)
	f.Fuzz(func(t *testing.T, mem []byte, sum bool) {
		if len(mem) == superblockSize && sum { // so that more than the checksum is tried
			copy(mem[56:], mem[:8])
			binary.LittleEndian.PutUint64(mem[superblockSum:], uint64(crc32c.Checksum(mem[:superblockSum])))
		}
		b, err := parseSuperblock(mem)
		if err != nil {
			return
		}
		if b.generation == 0 || b.length < directoryHead || b.length > maxDirectory || b.lease < minLease || b.lease > maxLease {
			t.Errorf("%+v", b)
		}
	})
}

func FuzzParseDirectory(f *testing.F) {
	d := sampleDirectory()
	f.Add(d.bytes(), false)
	f.Add(d.bytes(), true)
	f.Fuzz(func(t *testing.T, b []byte, sum bool) {
		if len(b) >= directoryHead && sum {
			binary.LittleEndian.PutUint32(b[4:], directoryMagic)
			binary.LittleEndian.PutUint32(b, crc32c.Checksum(b[4:]))
		}
		d, err := parseDirectory(b, 7)
		if err != nil {
			if !errors.Is(err, kvl.ErrCorrupt) {
				t.Errorf("%v", err)
			}
			return
		}
		for i := range d.areas {
			if a := &d.areas[i]; a.size < 0 || a.remote.Addr+uint64(a.size) < a.remote.Addr {
				t.Errorf("area %+v", a)
			}
		}
		if again := d.bytes(); len(again) != len(b) || !bytes.Equal(again[directoryHead+len(d.areas)*areaSize:], b[directoryHead+len(d.areas)*areaSize:]) {
			t.Errorf("%x became %x", b, again)
		}
	})
}

func FuzzParseAnswer(f *testing.F) {
	for _, a := range []answer{
		{status: found, generation: 7, link: kvl.NewLink(0, 8, 64, 7), record: make([]byte, 64)},
		{status: foundLong, generation: 7, link: kvl.NewLink(3, 8, 1<<20, 7)},
		{status: notFound, generation: 7},
		{status: noGeneration, generation: 8},
	} {
		f.Add(a.append(nil))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := parseAnswer(b)
		if err != nil {
			return
		}
		if again := a.append(nil); !bytes.Equal(again[8:], b[8:]) || again[0] != b[0] {
			t.Errorf("%x became %x", b, again)
		}
	})
}

func TestWelcomeBytes(t *testing.T) {
	w := welcome{fabric.Remote{Addr: 1 << 20, Key: 5}, 77}
	if got, err := parseWelcome(w.bytes()); err != nil || got != w {
		t.Errorf("%+v became %+v, %v", w, got, err)
	}
	other := w.bytes()
	other[2]++
	for _, b := range [][]byte{nil, []byte("no"), w.bytes()[:welcomeSize-1], other, (&welcome{superblock: fabric.Remote{Addr: 8}}).bytes()} {
		if _, err := parseWelcome(b); !errors.Is(err, ErrProtocol) {
			t.Errorf("%x: %v", b, err)
		}
	}
}
