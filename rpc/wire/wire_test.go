package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"
)

// The bytes of every structure, as doc.go draws them. A change here is a change
// of the protocol: Version goes up with it.
func TestGoldenBytes(t *testing.T) {
	request := make([]byte, 64)
	PutEntry(request[RequestHeader:], 3, More)
	copy(request[RequestHeader+EntryHeader:], "abc")
	n := SealRequest(request, 0x1_0002, 7, 0x0304, Word1{Taken: 0x05060708, Class: 9, Flags: 10, Entries: 0x0B0C}, false)
	proven := bytes.Clone(request)
	SealRequest(proven, 0x1_0002, 7, 0x0304, Word1{Taken: 0x05060708, Class: 9, Flags: 10, Entries: 0x0B0C}, true)
	hello := Hello{Core: 0x0102, Window: 0x0304, Results: 0x0506, Payload: 0x0708090A, Replies: Place{Addr: 0x1112131415161718, Key: 0x191A1B1C}, Bulk: 0x31323334, Proof: true}
	welcome := Welcome{
		Core: 0x0102, Cores: 0x0304, Window: 0x0506, Results: 0x0708, Payload: 0x090A0B0C, MaxMessage: 0x0D0E0F10,
		Requests: Place{Addr: 0x1112131415161718, Key: 0x191A1B1C}, Answers: Place{Addr: 0x2122232425262728, Key: 0x292A2B2C},
		Bulk: 0x31323334, ResultBulk: 0x35363738, Proof: true,
	}
	var piece [PieceSize]byte
	Piece{At: 0x01020304, Size: 0x05060708, Total: 0x090A0B0C, More: true, Sum: 0x0D0E0F10}.Put(piece[:])
	var area, resultArea [PieceSize]byte
	Area{Place: Place{Addr: 0x1112131415161718, Key: 0x191A1B1C}}.Put(area[:])
	Area{Place: Place{Addr: 0x1112131415161718, Key: 0x191A1B1C}, Results: true}.Put(resultArea[:])
	for _, c := range []struct {
		what      string
		got, want []byte
	}{
		{"request frame", request[:n], []byte{
			0x0F, 0, 0, 0, 0x04, 0x03, 0x02, 0x00, // status and size, batch, sequence
			0x08, 0x07, 0x06, 0x05, 9, 10, 0x0C, 0x0B, // taken, class, flags, entries
			3, 0, 0, 0x40, 'a', 'b', 'c', 0, // an entry with more to follow, and the gap
			0x78, 0xB9, 0xDB, 0x1F, 0xD0, 0x1D, 0x5A, 0xD7, // tail
		}},
		{"its tail, if it proves itself", proven[n-TailSize : n], []byte{0xE4, 0xC5, 0xCA, 0x67, 0xD0, 0x1D, 0x5A, 0xD7}},
		{"word 0 of a result", word(uint64(MakeWord0(3, 5, ResultAux(1000, true)))), []byte{0x0B, 0, 0, 0, 0x08, 0x80, 3, 0}},
		{"parked", word(uint64(ParkedWord0(3))), []byte{0x02, 0, 0, 0, 0, 0, 3, 0}},
		{"failure", AppendFailure(nil, 0x0102, "no"), []byte{2, 1, 'n', 'o'}},
		{"hello", hello.Append(nil), []byte{
			0x46, 0x52, 4, 1, 2, 1, 4, 3, 6, 5, 0x0A, 9, 8, 7,
			0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11, 0x1C, 0x1B, 0x1A, 0x19, 0x34, 0x33, 0x32, 0x31,
		}},
		{"welcome", welcome.Append(nil), []byte{
			0x46, 0x52, 4, 1, 2, 1, 4, 3, 6, 5, 8, 7, 0x0C, 0x0B, 0x0A, 9, 0x10, 0x0F, 0x0E, 0x0D,
			0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11, 0x1C, 0x1B, 0x1A, 0x19,
			0x28, 0x27, 0x26, 0x25, 0x24, 0x23, 0x22, 0x21, 0x2C, 0x2B, 0x2A, 0x29, 0x34, 0x33, 0x32, 0x31, 0x38, 0x37, 0x36, 0x35,
		}},
		{"piece", piece[:], []byte{4, 3, 2, 1, 8, 7, 6, 5, 0x0C, 0x0B, 0x0A, 9, 1, 0, 0, 0, 0x10, 0x0F, 0x0E, 0x0D}},
		{"area", area[:], []byte{0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11, 0x1C, 0x1B, 0x1A, 0x19, 2, 0, 0, 0, 0, 0, 0, 0}},
		{"area for results", resultArea[:], []byte{0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11, 0x1C, 0x1B, 0x1A, 0x19, 4, 0, 0, 0, 0, 0, 0, 0}},
	} {
		if !bytes.Equal(c.got, c.want) {
			t.Errorf("%s:\n got %#v\nwant %#v", c.what, c.got, c.want)
		}
	}
}

func word(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }

func TestGreetingsRoundTripAndFitTheHandshake(t *testing.T) {
	hello := Hello{Core: AnyCore, Window: 16, Results: 32, Payload: 2048, Replies: Place{Addr: math.MaxUint64, Key: math.MaxUint32}, Bulk: 1 << 18, Proof: true}
	b := hello.Append([]byte("x"))[1:]
	if got, err := ParseHello(b); err != nil || got != hello || len(b) != HelloSize {
		t.Errorf("hello of %d bytes: %+v, %v", len(b), got, err)
	}
	welcome := Welcome{Core: 1, Cores: 2, Window: 3, Results: 6, Payload: 256, MaxMessage: 1 << 20, Requests: Place{1, 2}, Answers: Place{3, 4}, Bulk: 5, ResultBulk: 6, Proof: true}
	b = welcome.Append(nil)
	if got, err := ParseWelcome(b); err != nil || got != welcome || len(b) != WelcomeSize {
		t.Errorf("welcome of %d bytes: %+v, %v", len(b), got, err)
	}
	if carried := 56; HelloSize > carried || WelcomeSize > carried {
		t.Errorf("greetings of %d and %d bytes: a fabric carries %d", HelloSize, WelcomeSize, carried)
	}
}

func TestGreetingsOfStrangersAreRefused(t *testing.T) {
	hello := (&Hello{Window: 1}).Append(nil)
	newer := bytes.Clone(hello)
	newer[2]++
	for _, c := range []struct {
		greeting []byte
		says     string
	}{
		{nil, "does not speak this protocol"},
		{[]byte("GET / HTTP/1.1 and some more bytes"), "does not speak this protocol"},
		{hello[:2], "does not speak this protocol"},
		{newer, "speaks version 5 of the protocol, this one 4"},
		{newer[:3], "speaks version 5"},
		{hello[:HelloSize-1], "greeting of 29 bytes instead of"},
	} {
		for name, parse := range map[string]func([]byte) error{
			"hello":   func(b []byte) error { _, err := ParseHello(b); return err },
			"welcome": func(b []byte) error { _, err := ParseWelcome(b); return err },
		} {
			if err := parse(c.greeting); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s %q: %v, want: %s", name, c.greeting, err, c.says)
			}
		}
	}
}

// A piece is accepted exactly when it lies in its area.
func TestPieces(t *testing.T) {
	for _, c := range []struct {
		p  Piece
		ok bool
	}{
		{Piece{At: 0, Size: 64}, true},
		{Piece{At: 36, Size: 28, Total: 1 << 30, More: true}, true},
		{Piece{At: 0, Size: 65}, false},
		{Piece{At: 37, Size: 28}, false},
		{Piece{At: 64, Size: 0}, false},
		{Piece{At: math.MaxUint32, Size: math.MaxUint32}, false},
	} {
		var b [PieceSize + 1]byte
		c.p.Put(b[:])
		got, ok := ParsePiece(b[:PieceSize], 64)
		if ok != c.ok || ok && got != c.p {
			t.Errorf("%+v in 64 bytes: %+v, %v", c.p, got, ok)
		}
		if _, ok := ParsePiece(b[:], 64); ok {
			t.Error("a piece that is too long is taken")
		}
		b[12] |= 2
		if _, ok := ParsePiece(b[:PieceSize], 64); ok {
			t.Error("unknown bits are taken")
		}
	}
}

// W1: zeroed memory is no frame, and no tail.
func TestZeroedMemoryIsNoFrame(t *testing.T) {
	for n := uint64(1); n < 1<<17; n++ {
		if Word0(0).Is(n) || Word0(0).Parked(n) || Tail(n) == 0 {
			t.Fatalf("zeroed memory is frame %d", n)
		}
	}
}

// W2: neither the frame of the lap before, nor its tail, nor the sign of a
// parked session is taken for the frame that is expected.
func TestStaleFramesAreNotTaken(t *testing.T) {
	for _, ring := range []uint64{1, 2, 3, 8, 1024, 2048, 1<<16 - 1} {
		for _, first := range []uint64{1, 65_530, 1<<32 - 3, 1<<48 - 3} {
			for n := first + ring; n < first+ring+10; n++ {
				stale := MakeWord0(n-ring, 100, math.MaxUint16)
				if stale.Is(n) || !stale.Is(n-ring) || Tail(n) == Tail(n-ring) {
					t.Fatalf("ring of %d: frame %d is taken for %d", ring, n-ring, n)
				}
				if p := ParkedWord0(n); p.Is(n) || !p.Parked(n) || p.Parked(n-ring) {
					t.Fatalf("ring of %d: the sign of a parked session, frame %d", ring, n)
				}
			}
		}
	}
}

// W3: the tail is the last thing in a request, and of a pushed result; it is
// aligned, and nothing of the entries reaches into it.
func TestTailsLieBehindTheEntries(t *testing.T) {
	for size := range 100 {
		if at := TailOffset(size); at%8 != 0 || at < RequestHeader+size || at > RequestHeader+size+7 || RequestBytes(size) != at+TailSize {
			t.Errorf("request of %d bytes: tail at %d, %d in all", size, at, RequestBytes(size))
		}
		if at := ResultTail(size); at%8 != 0 || at < ResultBytes(size) || at > ResultBytes(size)+7 || TailedBytes(size) != at+TailSize {
			t.Errorf("result of %d bytes: tail at %d, %d in all", size, at, TailedBytes(size))
		}
	}
}

func TestSealRequestClearsTheGap(t *testing.T) {
	for size := range 20 {
		b := bytes.Repeat([]byte{0xEE}, 64)
		n := SealRequest(b, 7, size, 1, Word1{}, false)
		w := Word0(binary.LittleEndian.Uint64(b))
		if !w.Is(7) || w.Size() != size || n != RequestBytes(size) || binary.LittleEndian.Uint64(b[n-8:]) != Tail(7) {
			t.Errorf("size %d: word 0 %#x, %d bytes", size, w, n)
		}
		for i := RequestHeader + size; i < n-TailSize; i++ {
			if b[i] != 0 {
				t.Errorf("size %d: byte %d tells something of an earlier frame", size, i)
			}
		}
		if b[n] != 0xEE {
			t.Errorf("size %d: written beyond the end", size)
		}
	}
}

func TestTimesInResults(t *testing.T) {
	for _, c := range []struct {
		nanos, want int64
	}{{0, 0}, {-5, 0}, {1, 128}, {128, 128}, {129, 256}, {1 << 40, MaxTime * TimeUnit}, {math.MaxInt64 - TimeUnit, MaxTime * TimeUnit}} {
		for _, last := range []bool{false, true} {
			w := MakeWord0(1, MaxPayload, ResultAux(c.nanos, last))
			if w.Nanos() != c.want || w.Last() != last || w.Size() != MaxPayload || !w.Is(1) {
				t.Errorf("%d ns, last %v: %d, %v, size %d", c.nanos, last, w.Nanos(), w.Last(), w.Size())
			}
		}
	}
}

// W4: a size that lies is found.
func TestEntriesThatDoNotFit(t *testing.T) {
	for _, b := range [][]byte{
		nil,
		{1},
		{0, 0, 0},
		{1, 0, 0, 0},
		{5, 0, 0, 0, 1, 2, 3, 4},
		{0xFF, 0xFF, 0xFF, 0x3F, 1},
		{0xFF, 0xFF, 0xFF, 0xFF, 1},
	} {
		if entry, rest, _, err := NextEntry(b); !errors.Is(err, ErrEntry) || entry != nil || rest != nil {
			t.Errorf("payload %x: %x, %x, %v", b, entry, rest, err)
		}
	}
}

func TestEntriesCannotBeExtendedIntoTheNext(t *testing.T) {
	b := []byte{1, 0, 0, 0, 'a', 1, 0, 0, 0x80, 'b'}
	entry, rest, marks, err := NextEntry(b)
	if err != nil || string(entry) != "a" || marks != 0 {
		t.Fatalf("%q, %v, %v", entry, marks, err)
	}
	_ = append(entry, "overwritten"...)
	entry, rest, marks, err = NextEntry(rest)
	if err != nil || string(entry) != "b" || marks != Failure || len(rest) != 0 {
		t.Errorf("%q, %v, %q, %v", entry, marks, rest, err)
	}
}

func TestFailures(t *testing.T) {
	for _, text := range []string{"", "x", strings.Repeat("long ", 100)} {
		if code, got := ParseFailure(AppendFailure(nil, 77, text)); code != 77 || got != text {
			t.Errorf("%q became %d %q", text, code, got)
		}
	}
	for _, b := range [][]byte{nil, {1}} {
		if code, text := ParseFailure(b); code != 0 || text != "" {
			t.Errorf("%x became %d %q", b, code, text)
		}
	}
}

// An entry is an area exactly when its flags name one direction, and then it is no piece.
func TestAreas(t *testing.T) {
	for flags := range uint32(16) {
		b := make([]byte, PieceSize)
		binary.LittleEndian.PutUint32(b[12:], flags)
		b[4] = 1 // bytes, if it were a piece
		a, ok := ParseArea(b)
		_, piece := ParsePiece(b, 64)
		if want := flags == 2 || flags == 4; ok != want || ok && a.Results != (flags == 4) || piece != (flags < 2) {
			t.Errorf("flags %d: %+v, %v, a piece: %v", flags, a, ok, piece)
		}
		if _, ok := ParseArea(b[:PieceSize-1]); ok {
			t.Errorf("flags %d: an area of %d bytes", flags, PieceSize-1)
		}
	}
}

// W3: a frame proves itself, and none of which a line is of another time.
func TestProof(t *testing.T) {
	const n, size = 5, 300
	frame := func(n uint64, fill byte) []byte {
		b := bytes.Repeat([]byte{fill}, RequestBytes(size))
		SealRequest(b, n, size, 1, Word1{Entries: 1}, true)
		return b
	}
	whole, stale := frame(n, 1), frame(n-4, 2)
	tail := binary.LittleEndian.Uint64(whole[TailOffset(size):])
	proofOf := func(n uint64, b []byte) uint64 {
		return Proof(n, Word0(binary.LittleEndian.Uint64(b)), b[8:RequestHeader+size])
	}
	if !MayEnd(tail, n, true) || tail != proofOf(n, whole) || MayEnd(tail, n, false) {
		t.Error("the frame does not prove itself")
	}
	if MayEnd(tail, n-4, true) || tail == proofOf(n-4, whole) {
		t.Error("the tail is also that of another frame")
	}
	for at := 0; at < RequestHeader+size; at += 64 {
		torn := bytes.Clone(whole[:RequestHeader+size])
		copy(torn[at:min(at+64, len(torn))], stale[at:])
		if tail == proofOf(n, torn) {
			t.Errorf("with the line at %d of an older frame it proves itself", at)
		}
	}
}
