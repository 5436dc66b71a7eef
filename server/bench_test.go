package server_test

import (
	"encoding/binary"
	"testing"

	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/internal/command"
	"github.com/remora-kv/remora/rpc"
)

// BenchmarkBatch is a get of a batch of 16, as a core serves it, without frames:
// keys of 16 bytes and values of 32, as many as fit into no cache of a core.
func BenchmarkBatch(b *testing.B) {
	const keys, size = 1_000_000, 16
	r := newRig(b, provider.Loop)
	cfg := r.config()
	cfg.Cores, cfg.Memory = 1, 256<<20
	s := r.start(cfg)
	call := &rpc.Call{}
	out := make([]byte, 0, 2048)
	key, value := make([]byte, 16), make([]byte, 32)
	for i := range uint64(keys) {
		binary.LittleEndian.PutUint64(key, i)
		msg := command.AppendPut(binary.LittleEndian.AppendUint16(nil, uint16(command.Put)), key, value, &command.Store{})
		if res, err := s.Serve(call, msg, out); err != nil || len(res) < 2 {
			b.Fatal(res, err)
		}
	}
	batch := make([][]byte, size)
	for i := range batch {
		batch[i] = binary.LittleEndian.AppendUint16(make([]byte, 0, 18), uint16(command.Get))[:18]
	}
	random := uint64(1)
	b.ResetTimer()
	for n := 0; n < b.N; n += size {
		for _, msg := range batch {
			random = random*6364136223846793005 + 1442695040888963407
			binary.LittleEndian.PutUint64(msg[rpc.ProcSize:], (random>>32)*keys>>32)
		}
		s.Expect(0, batch)
		res := out
		for i, msg := range batch {
			call.Announced = i + 1
			var err error
			if res, err = s.Serve(call, msg, res); err != nil {
				b.Fatal(err)
			}
		}
		if len(res) != size*(32+7) {
			b.Fatalf("%d bytes", len(res))
		}
	}
}
