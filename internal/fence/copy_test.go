package fence

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/remora-kv/remora/test/scale"
)

const (
	maxLen   = 450
	maxAlign = 16
	guard    = 0xEE
)

// eachLayout calls f for every length and every pair of alignments, with slices
// of exactly that length inside buffers that are aligned to 16 bytes.
func eachLayout(f func(dstBuf, srcBuf []byte, dstOff, srcOff, n int)) {
	dstBuf, srcBuf := alignedBuffer(maxLen+2*maxAlign), alignedBuffer(maxLen+2*maxAlign)
	for i := range srcBuf {
		srcBuf[i] = byte(i*7 + 1)
	}
	step := 1
	if scale.Race {
		step = 3 // other code, one word at a time: fewer lengths will do
	}
	for n := 0; n <= maxLen; n += step {
		for dstOff := range maxAlign {
			for srcOff := range maxAlign {
				f(dstBuf, srcBuf, dstOff, srcOff, n)
			}
		}
	}
}

func TestCopyEveryLengthAndAlignment(t *testing.T) {
	for _, c := range []struct {
		name string
		copy func(dst, src []byte)
	}{{"CopyOut", CopyOut}, {"CopyIn", CopyIn}, {"CopyPast", CopyPast}, {"CopyAcross", CopyAcross}} {
		t.Run(c.name, func(t *testing.T) {
			want := make([]byte, maxLen+2*maxAlign)
			eachLayout(func(dstBuf, srcBuf []byte, dstOff, srcOff, n int) {
				for i := range dstBuf {
					dstBuf[i], want[i] = guard, guard
				}
				copy(want[dstOff:], srcBuf[srcOff:srcOff+n])
				// One byte more in the destination: it must stay as it is.
				c.copy(dstBuf[dstOff:dstOff+n+1], srcBuf[srcOff:srcOff+n])
				if !bytes.Equal(dstBuf, want) {
					t.Fatalf("%d bytes from alignment %d to %d:\n got %x\nwant %x", n, srcOff, dstOff, dstBuf, want)
				}
			})
		})
	}
}

// Long copies take other turns than short ones.
func TestLongCopies(t *testing.T) {
	const most = 70_000
	rng := rand.New(rand.NewPCG(7, 7))
	dstBuf, srcBuf, want := alignedBuffer(most+128), alignedBuffer(most+128), make([]byte, most+128)
	for i := range srcBuf {
		srcBuf[i] = byte(rng.Uint32())
	}
	for name, f := range map[string]func(dst, src []byte){"CopyOut": CopyOut, "CopyIn": CopyIn, "CopyPast": CopyPast, "CopyAcross": CopyAcross} {
		for i := range 200 {
			n, dstOff, srcOff := 4090+i%12, rng.IntN(64), rng.IntN(64)
			if i >= 24 {
				n = 4000 + rng.IntN(most-4000)
			}
			for i := range dstBuf {
				dstBuf[i], want[i] = guard, guard
			}
			copy(want[dstOff:], srcBuf[srcOff:srcOff+n])
			f(dstBuf[dstOff:], srcBuf[srcOff:srcOff+n])
			if !bytes.Equal(dstBuf, want) {
				t.Fatalf("%s of %d bytes from alignment %d to %d is wrong", name, n, srcOff, dstOff)
			}
		}
	}
}

func TestCopyPanicsOnShortDestination(t *testing.T) {
	for name, f := range map[string]func(dst, src []byte){"CopyOut": CopyOut, "CopyIn": CopyIn, "CopyPast": CopyPast, "CopyAcross": CopyAcross} {
		func() {
			defer func() {
				want := fmt.Sprintf("fence.%s: destination of 2 bytes for a source of 3", name)
				if got := recover(); got != want {
					t.Errorf("panic %v, want %q", got, want)
				}
			}()
			f(make([]byte, 2), make([]byte, 3))
		}()
	}
}

func TestCopyOfNothing(t *testing.T) {
	CopyOut(nil, nil)
	CopyIn(nil, nil)
	CopyPast(nil, nil)
	CopyAcross(nil, nil)
	CopyOut(make([]byte, 1), nil)
}

func TestCopyDoesNotAllocate(t *testing.T) {
	dst, src := make([]byte, 256), make([]byte, 256)
	if n := testing.AllocsPerRun(100, func() { CopyOut(dst, src); CopyIn(src, dst); CopyPast(dst, src); CopyAcross(dst, src); Drain() }); n != 0 {
		t.Errorf("%v allocations a run, want none", n)
	}
}

func TestByteTouchesOnlyItsByte(t *testing.T) {
	buf := alignedBuffer(16)
	for i := range buf {
		for j := range buf {
			buf[j] = guard
		}
		PublishByte(&buf[i], byte(i))
		for j, got := range buf {
			want := byte(guard)
			if j == i {
				want = byte(i)
			}
			if got != want {
				t.Fatalf("after PublishByte at %d byte %d is %#x, want %#x", i, j, got, want)
			}
		}
		if got := ObserveByte(&buf[i]); got != byte(i) {
			t.Fatalf("ObserveByte at %d = %#x, want %#x", i, got, i)
		}
	}
}

func BenchmarkCopy(b *testing.B) {
	for _, c := range []struct {
		name string
		copy func(dst, src []byte)
	}{
		{"copy", func(dst, src []byte) { copy(dst, src) }},
		{"CopyOut", CopyOut},
		{"CopyIn", CopyIn},
	} {
		for _, n := range []int{8, 13, 32, 64, 100, 256, 1024, 4096, 64 << 10, 1 << 20, 16 << 20} {
			b.Run(fmt.Sprintf("%s/%d", c.name, n), func(b *testing.B) {
				dst, src := alignedBuffer(n), alignedBuffer(n)
				b.SetBytes(int64(n))
				for b.Loop() {
					c.copy(dst, src)
				}
			})
		}
	}
}
