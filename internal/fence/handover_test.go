package fence

import (
	"encoding/binary"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// F1, with plain accesses to the data that is handed over: every way to publish
// byte 15 of a buffer against every way to observe it. In race builds the
// detector checks that each pair is a happens-before edge.
func TestPublishThenObserve(t *testing.T) {
	shared, image, copied := alignedBuffer(64), make([]byte, 64), make([]byte, 64)
	const flag = 15
	word, half := asUint64(&shared[8]), asUint32(&shared[12])
	copyOut := func(from, to int) func(byte) {
		return func(g byte) {
			fillBytes(image, g)
			CopyOut(shared[from:to], image[:to-from])
		}
	}
	copyIn := func(from, to int) func() byte {
		return func() byte {
			CopyIn(copied, shared[from:to])
			return copied[flag-from]
		}
	}
	publishers := map[string]func(byte){
		"Publish64":   func(g byte) { Publish64(word, 0x0101010101010101*uint64(g)) },
		"Announce64":  func(g byte) { Announce64(word, 0x0101010101010101*uint64(g)) },
		"Publish32":   func(g byte) { Publish32(half, 0x01010101*uint32(g)) },
		"Announce32":  func(g byte) { Announce32(half, 0x01010101*uint32(g)) },
		"PublishByte": func(g byte) { PublishByte(&shared[flag], g) },
		"CopyOut8-16": copyOut(8, 16),
		"CopyOut5-16": copyOut(5, 16),
		"CopyOut9-16": copyOut(9, 16),
		"CopyOut0-64": copyOut(0, 64),
	}
	observers := map[string]func() byte{
		"Observe64": func() byte {
			var b [8]byte
			binary.NativeEndian.PutUint64(b[:], Observe64(word))
			return b[flag-8]
		},
		"ObserveByte": func() byte { return ObserveByte(&shared[flag]) },
		"CopyIn8-16":  copyIn(8, 16),
		"CopyIn13-16": copyIn(13, 16),
		"CopyIn0-64":  copyIn(0, 64),
	}
	for p, publish := range publishers {
		for o, observe := range observers {
			t.Run(p+"/"+o, func(t *testing.T) {
				fillBytes(shared, 0)
				handOver(t, publish, observe)
			})
		}
	}
}

// handOver sends data that is accessed plainly from writer to reader and back:
// the reader may only look when it has observed the generation, and the writer
// may only write when the reader has answered.
func handOver(t *testing.T, publish func(g byte), observe func() byte) {
	var data [4]uint64
	var answered atomic.Uint64
	last := rounds() / 10
	var writer sync.WaitGroup
	writer.Go(func() {
		for gen := uint64(1); gen <= last; gen++ {
			for Observe64(&answered) != gen-1 {
				runtime.Gosched()
			}
			for i := range data {
				data[i] = gen
			}
			publish(byte(gen))
		}
	})
	defer writer.Wait()
	for gen := uint64(1); gen <= last; gen++ {
		for observe() != byte(gen) {
			runtime.Gosched()
		}
		for i, got := range data {
			if got != gen {
				t.Errorf("generation %d published and data[%d] is still %d", gen, i, got)
			}
		}
		Publish64(&answered, gen)
	}
}
