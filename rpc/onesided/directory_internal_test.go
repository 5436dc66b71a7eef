package onesided

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/remora-kv/remora/fabric"
)

var sample = directory{instance: 77, tables: []table{
	{layout: []byte("twelve bytes"), areas: []area{{fabric.Remote{Addr: 4096, Key: 5}, 64, false}, {fabric.Remote{Addr: 1 << 40, Key: 6}, 1 << 30, true}}},
	{layout: []byte{}},
}}

func TestDirectory(t *testing.T) {
	b := sample.bytes()
	got, err := parseDirectory(b)
	if err != nil || !reflect.DeepEqual(got, &sample) {
		t.Errorf("%+v, %v", got, err)
	}
	for n := range b {
		if d, err := parseDirectory(b[:n]); err == nil {
			t.Errorf("%d of %d bytes are %+v", n, len(b), d)
		}
	}
}

// FuzzDirectory: what a server says is refused, or written again as the same bytes.
func FuzzDirectory(f *testing.F) {
	f.Add(sample.bytes())
	f.Add((&directory{}).bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := parseDirectory(b)
		if err != nil {
			return
		}
		again := d.bytes()
		back, err := parseDirectory(again)
		if err != nil || !reflect.DeepEqual(back, d) || !bytes.Equal(back.bytes(), again) {
			t.Errorf("%x became %x, %v", b, again, err)
		}
		for i := range d.tables {
			for _, a := range d.tables[i].areas {
				if a.has(a.size, 1) || a.has(-1, 1) || a.has(0, 0) || a.has(1, int(a.size)) {
					t.Errorf("%+v has what is outside", a)
				}
			}
		}
	})
}

// FuzzWelcome: private data of a server.
func FuzzWelcome(f *testing.F) {
	f.Add((&welcome{fabric.Remote{Addr: 1, Key: 2}, 100}).bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		w, err := parseWelcome(b)
		if err == nil && (w.length < directoryHead || w.length > maxDirectory) {
			t.Errorf("%+v", w)
		}
		_ = checkHello(b)
	})
}
