package server

import (
	"encoding/binary"

	"github.com/remora-kv/remora/internal/command"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/rfp"
	"github.com/remora-kv/remora/store"
)

// serveMany serves the gets at the beginning of a batch, as get does one after the
// other. Whatever is unusual is left to serve.
func (s *Server) serveMany(c *rpc.Call, batch [][]byte, out *rfp.Results) (served int, long []byte) {
	if s.draining.Load() {
		return 0, nil
	}
	sh := s.shards[c.Core]
	now, hashes := sh.now(c), sh.hashes[c.Announced-1:]
	for i, msg := range batch {
		if len(msg) < rpc.ProcSize || command.Proc(binary.LittleEndian.Uint16(msg)) != command.Get {
			break
		}
		k := store.Key{Hash: hashes[i], Bytes: msg[rpc.ProcSize:]}
		room := out.Room()
		if room == nil || !sh.owns(k.Hash) {
			break
		}
		if err := sh.reader.Read(k, now, &sh.item); err != nil {
			out.Add(len(command.AppendStatus(room[:0], statusOf(err))))
		} else if size := len(sh.item.Value) + command.FoundSize; size > len(room) {
			sh.ops[command.Get] += uint64(served + 1)
			return served, sh.apart(c, now)
		} else {
			out.Add(len(sh.appendItem(room[:0], now)))
		}
		served++
	}
	sh.ops[command.Get] += uint64(served)
	return served, nil
}
