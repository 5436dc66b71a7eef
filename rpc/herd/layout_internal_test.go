package herd

import (
	"bytes"
	"encoding/hex"
	"testing"

	"github.com/remora-kv/remora/fabric"
)

// The bytes of the handshake, of wake-ups and of replies are what the package doc draws.
func TestGoldenBytes(t *testing.T) {
	h := hello{window: 4, slot: 1024, first: 5, count: 2, proof: true}
	w := welcome{
		dimensions: dimensions{first: 5, cores: 2, window: 4, slot: 1024}, total: 7, generation: 0xABCDEF, proof: true,
		requests: fabric.Remote{Addr: 0x1122334455667788, Key: 0x99AABBCC},
	}
	var control [controlSize]byte
	r := wakeup{core: 3, number: 0x0102, mask: 0x81}
	wakeupBytes := append([]byte(nil), control[:r.put(control[:])]...)
	introduction := append([]byte(nil), control[:putIntroduction(control[:], []byte("addr"))]...)
	var head [headerSize]byte
	header{stampOf(0xABCDEF, 0x0203), 0x0405, kindParked}.put(head[:])
	for name, c := range map[string]struct {
		got  []byte
		want string
	}{
		"hello":        {h.bytes(), "484402010400000405000200"},
		"welcome":      {w.bytes(), "484402010200040000040700efcdab008877665544332211ccbbaa99"},
		"wake-up":      {wakeupBytes, "020003000000000002010000000000008100000000000000"},
		"introduction": {introduction, "0100040061646472"},
		"reply":        {head[:], "0302000000efcdab0504030000000000"},
	} {
		if got := hex.EncodeToString(c.got); got != c.want {
			t.Errorf("%s is %s, must be %s", name, got, c.want)
		}
	}
}

func TestGreetingsAreChecked(t *testing.T) {
	h := hello{window: 4, slot: 1024, first: 1, count: 2}
	good := welcome{dimensions: dimensions{first: 1, cores: 2, window: 4, slot: 1024}, total: 4, generation: 1}
	if w, err := parseWelcome(good.bytes(), &h); err != nil || w != good {
		t.Errorf("%+v, %v", w, err)
	}
	for name, change := range map[string]func(w *welcome){
		"no cores": func(w *welcome) { w.cores = 0 }, "many cores": func(w *welcome) { w.total = maxCores + 1 },
		"fewer cores": func(w *welcome) { w.cores = 1 }, "more cores": func(w *welcome) { w.cores = 3 },
		"cores that are not there": func(w *welcome) { w.total = 2 },
		"no window":                func(w *welcome) { w.window = 0 }, "large window": func(w *welcome) { w.window = 5 },
		"small slot": func(w *welcome) { w.slot = 64 }, "large slot": func(w *welcome) { w.slot = 1032 },
		"odd slot":      func(w *welcome) { w.slot = 1020 },
		"no generation": func(w *welcome) { w.generation = 0 }, "large generation": func(w *welcome) { w.generation = maxGen + 1 },
	} {
		w := good
		change(&w)
		if _, err := parseWelcome(w.bytes(), &h); err == nil {
			t.Errorf("a welcome with %s is accepted", name)
		}
	}
	all := hello{window: 4, slot: 1024, first: 1}
	if _, err := parseWelcome(good.bytes(), &all); err == nil {
		t.Error("two cores are accepted where all three that follow were asked for")
	}
	for _, b := range [][]byte{
		nil, h.bytes()[:11], []byte("RF\x01\x00\x04\x00\x00\x04\x00\x00\x00\x00"),
		{0x48, 0x44, 9, 0, 4, 0, 0, 4, 0, 0, 0, 0},
		{0x48, 0x44, 1, 0, 0, 0, 0, 4, 0, 0, 0, 0},
	} {
		if _, err := parseHello(b); err == nil {
			t.Errorf("%x is accepted as hello", b)
		}
	}
}

func TestGenerationsAreNeverZero(t *testing.T) {
	s := &Server{}
	s.gen.Store(maxGen - 3)
	for range 8 {
		if g := s.generation(); g == 0 || g > maxGen {
			t.Errorf("generation %#x", g)
		}
	}
}

func FuzzControl(f *testing.F) {
	var b [controlSize]byte
	f.Add(append([]byte(nil), b[:putIntroduction(b[:], []byte("addr"))]...))
	r := wakeup{core: 1, number: 2, mask: 3}
	f.Add(append([]byte(nil), b[:r.put(b[:])]...))
	f.Fuzz(func(t *testing.T, in []byte) {
		r, address, ok := parseControl(in)
		if !ok {
			return
		}
		var b [controlSize]byte
		var n int
		if address != nil {
			n = putIntroduction(b[:], address)
		} else {
			n = r.put(b[:])
		}
		if n != len(in) || !bytes.Equal(b[2:4], in[2:4]) {
			t.Errorf("%x became %x", in, b[:n])
		}
	})
}

func FuzzHeader(f *testing.F) {
	f.Add(bytes.Repeat([]byte{1}, headerSize))
	f.Fuzz(func(t *testing.T, in []byte) {
		h, ok := parseHeader(in)
		if !ok {
			return
		}
		var b [headerSize]byte
		if h.put(b[:]); !bytes.Equal(b[:], in[:headerSize]) {
			t.Errorf("%x became %x", in, b)
		}
	})
}
