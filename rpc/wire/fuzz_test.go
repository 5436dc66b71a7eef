package wire

import (
	"bytes"
	"testing"
)

// FuzzNextEntry walks through any bytes as the payload of a frame: entries lie
// in it one after the other, and encoding them gives the same bytes again.
func FuzzNextEntry(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{3, 0, 0, 0, 'a', 'b', 'c', 0, 0, 0, 0x40, 1, 0, 0, 0x80, 'x'})
	f.Add([]byte{0xFF, 0xFF, 0xFF, 0xFF, 0})
	f.Fuzz(func(t *testing.T, payload []byte) {
		var again []byte
		for rest := payload; len(rest) != 0; {
			entry, next, marks, err := NextEntry(rest)
			if err != nil {
				again = append(again, rest...)
				break
			}
			if len(entry)+len(next)+EntryHeader != len(rest) || cap(entry) != len(entry) {
				t.Fatalf("%d bytes became an entry of %d (capacity %d) and %d", len(rest), len(entry), cap(entry), len(next))
			}
			var head [EntryHeader]byte
			PutEntry(head[:], len(entry), marks)
			again = append(append(again, head[:]...), entry...)
			rest = next
		}
		if !bytes.Equal(again, payload) {
			t.Errorf("%x was encoded as %x", payload, again)
		}
	})
}

// FuzzGreetings: what parses is what was encoded, up to bytes that mean nothing.
func FuzzGreetings(f *testing.F) {
	f.Add((&Hello{Core: AnyCore, Window: 8, Results: 16, Payload: 2048}).Append(nil))
	f.Add((&Welcome{Cores: 1, Window: 8, Results: 16, Payload: 2048, MaxMessage: 1 << 20}).Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		if h, err := ParseHello(b); err == nil {
			again := h.Append(nil)
			if !bytes.Equal(again[:3], b[:3]) || again[3] != b[3]&proofBit || !bytes.Equal(again[4:], b[4:HelloSize]) {
				t.Errorf("hello %x was encoded as %x", b, again)
			}
		}
		if w, err := ParseWelcome(b); err == nil {
			again := w.Append(nil)
			if !bytes.Equal(again[:3], b[:3]) || again[3] != b[3]&proofBit || !bytes.Equal(again[4:], b[4:WelcomeSize]) {
				t.Errorf("welcome %x was encoded as %x", b, again)
			}
		}
	})
}

// FuzzWords: the fields of both words hold apart what was put into them, and any
// word can be taken apart.
func FuzzWords(f *testing.F) {
	f.Add(uint64(1), uint32(0), uint16(0), uint64(0))
	f.Add(uint64(1<<16+1), uint32(MaxPayload), uint16(1<<15|3), uint64(1<<63|5))
	f.Fuzz(func(t *testing.T, n uint64, size uint32, aux uint16, word uint64) {
		w := MakeWord0(n, int(size&MaxPayload), aux)
		if !w.Is(n) || w.Is(n+1) || w.Size() != int(size&MaxPayload) || w.Aux() != aux || w.Parked(n) {
			t.Errorf("frame %d of %d bytes with %#x: %#x", n, size, aux, w)
		}
		if Tail(n) == Tail(n+1) {
			t.Errorf("frames %d and %d have the same tail", n, n+1)
		}
		x := Word0(word)
		if x.Size() < 0 || x.Size() > MaxPayload || x.Nanos() < 0 || x.Is(n) && x.Parked(n) {
			t.Errorf("%#x: %d bytes, %d ns", word, x.Size(), x.Nanos())
		}
		if got := UnpackWord1(word).Pack(); got != word {
			t.Errorf("%#x was packed as %#x", word, got)
		}
	})
}
