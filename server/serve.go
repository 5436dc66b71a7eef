package server

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/internal/command"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/rfp"
	"github.com/remora-kv/remora/store"
)

// shard is a core's partition with what is needed to serve it. The core's
// goroutine alone touches it (V1).
type shard struct {
	server *Server
	index  int
	part   store.Partition
	reader store.Reader // of part
	linker store.Linker // part, where clients may have links
	user   store.User   // part, where it takes account of uses by links
	uses   [command.MaxUses]uint64
	item   store.Item // the one that was read last
	seed   store.Seed
	clock  fabric.Clock
	epoch  int64 // milliseconds of the wall clock when clock was 0

	ops     [opCount]uint64
	trailer [command.FoundSize]byte // of a result that does not fit a frame
	counter [store.CounterSize]byte

	// prefetch loads what the hashes of the next batch need.
	prefetch store.Prefetcher
	hashes   [rfp.ExpectMost]uint64
	hint     [1]uint64 // of herd
}

// opCount is the number of procedures that are counted.
const opCount = int(command.Link) + 1

// serve handles a message. It is the only handler: a switch instead of a table
// spares a call.
func (s *Server) serve(c *rpc.Call, msg, out []byte) ([]byte, error) {
	if len(msg) < rpc.ProcSize {
		return out, malformed(command.Hello)
	}
	sh := s.shards[c.Core]
	proc, arg := command.Proc(binary.LittleEndian.Uint16(msg)), msg[rpc.ProcSize:]
	if int(proc) >= opCount {
		return out, &rpc.Error{Code: rpc.CodeNoProcedure, Text: fmt.Sprintf("no procedure %d on this server", proc)}
	}
	sh.ops[proc]++
	switch proc {
	case command.Get:
		return sh.get(c, arg, out)
	case command.Link:
		return sh.link(c, arg, out)
	default:
	}
	if s.draining.Load() && proc != command.Stats {
		return command.AppendStatus(out, command.Draining), nil
	}
	switch proc {
	case command.Put:
		return sh.put(c, arg, out)
	case command.Delete:
		return sh.delete(c, arg, out)
	case command.Touch:
		return sh.touch(c, arg, out)
	case command.Incr:
		return sh.incr(c, arg, out)
	case command.Stats:
		return sh.stats(c, arg, out)
	case command.Hello, command.Get, command.Link, command.Follow:
	}
	return sh.hello(arg, out)
}

// expect has the index entries of a batch loaded, and then the items: so a batch
// waits for memory about as long as one message. The hashes are kept for serve.
func (s *Server) expect(core int, batch [][]byte) {
	sh := s.shards[core]
	hashes := sh.hashes[:len(batch)]
	for i, msg := range batch {
		hash := sh.seed.Hash(keyOf(msg))
		hashes[i] = hash
		sh.prefetch.PrefetchIndex(hash)
	}
	sh.prefetch.PrefetchItems(hashes)
}

// keyOf is the key of a request as its handler reads it, nil when there is none.
func keyOf(msg []byte) []byte {
	if len(msg) < rpc.ProcSize {
		return nil
	}
	arg := msg[rpc.ProcSize:]
	switch command.Proc(binary.LittleEndian.Uint16(msg)) {
	case command.Get:
		return arg
	case command.Link:
		return command.LinkKey(arg)
	case command.Put:
		r, _ := command.ParsePut(arg)
		return r.Key
	case command.Delete:
		key, _, _ := command.ParseDelete(arg)
		return key
	case command.Touch:
		key, _, _ := command.ParseTouch(arg)
		return key
	case command.Incr:
		key, _, _ := command.ParseIncr(arg)
		return key
	case command.Hello, command.Stats, command.Follow:
	}
	return nil
}

func malformed(p command.Proc) error {
	return &rpc.Error{Code: rpc.CodeMalformed, Text: "malformed request of " + p.String()}
}

// key makes the key of a request, and reports whether it belongs here (V2). The
// hash of one that was announced is known.
func (sh *shard) key(c *rpc.Call, b []byte) (store.Key, bool) {
	k := store.Key{Bytes: b}
	if c.Announced != 0 {
		k.Hash = sh.hashes[c.Announced-1]
	} else {
		k.Hash = sh.seed.Hash(b)
	}
	return k, sh.owns(k.Hash)
}

// owns reports whether keys of a hash belong here (V2).
func (sh *shard) owns(hash uint64) bool {
	return len(sh.server.shards) == 1 || store.PartitionOf(hash, len(sh.server.shards)) == sh.index
}

// now is the time in milliseconds since the epoch, as the core saw it last.
func (sh *shard) now(c *rpc.Call) int64 { return sh.epoch + c.Now/1e6 }

// clientTime is a time that now has not passed, for clients that decide by themselves what has expired.
func (sh *shard) clientTime() int64 { return sh.epoch + sh.clock.Now()/1e6 }

// expiry is when something ends that lives for ttl from now on.
func expiry(now int64, ttl uint64) int64 {
	switch {
	case ttl == 0:
		return 0
	case ttl > uint64(math.MaxInt64-now):
		return math.MaxInt64
	}
	return now + int64(ttl)
}

func (sh *shard) get(c *rpc.Call, key, out []byte) ([]byte, error) {
	if sh.server.draining.Load() {
		return command.AppendStatus(out, command.Draining), nil
	}
	k, here := sh.key(c, key)
	if !here {
		return command.AppendStatus(out, command.WrongCore), nil
	}
	now := sh.now(c)
	if err := sh.reader.Read(k, now, &sh.item); err != nil {
		return command.AppendStatus(out, statusOf(err)), nil
	}
	if len(sh.item.Value)+command.FoundSize > cap(out)-len(out) {
		return sh.apart(c, now), nil
	}
	return sh.appendItem(out, now), nil
}

// appendItem appends the result of a get, of the item that was read last.
func (sh *shard) appendItem(out []byte, now int64) []byte {
	item := &sh.item
	return command.AppendTrailer(append(out, item.Value...), item.Version, sh.left(now), item.Flags)
}

// apart is the same where the result does not fit: the value is where it is until the
// partition changes.
func (sh *shard) apart(c *rpc.Call, now int64) []byte {
	item := &sh.item
	c.After = command.AppendTrailer(sh.trailer[:0], item.Version, sh.left(now), item.Flags)
	return item.Value
}

// left is the time to live of the item that was read last.
func (sh *shard) left(now int64) uint64 {
	if sh.item.Expires == 0 {
		return 0
	}
	return uint64(sh.item.Expires - now) // positive, or it would be gone
}

func (sh *shard) put(c *rpc.Call, arg, out []byte) ([]byte, error) {
	r, err := command.ParsePut(arg)
	if err != nil {
		return out, malformed(command.Put)
	}
	k, here := sh.key(c, r.Key)
	if !here {
		return command.AppendStatus(out, command.WrongCore), nil
	}
	if len(r.Key) > sh.server.cfg.MaxKey {
		return command.AppendStatus(out, command.TooLarge), nil
	}
	now := sh.now(c)
	e := store.Entry{Value: r.Value, Flags: r.Flags, Expires: expiry(now, r.TTL)}
	version, err := sh.part.Put(k, e, conditionOf(r.Condition, r.Version), now)
	if err != nil {
		return command.AppendStatus(out, statusOf(err)), nil
	}
	return command.AppendStored(out, version), nil
}

func (sh *shard) delete(c *rpc.Call, arg, out []byte) ([]byte, error) {
	key, version, err := command.ParseDelete(arg)
	if err != nil {
		return out, malformed(command.Delete)
	}
	k, here := sh.key(c, key)
	if !here {
		return command.AppendStatus(out, command.WrongCore), nil
	}
	cond := store.Always()
	if version != 0 {
		cond = store.IfVersion(version)
	}
	return command.AppendStatus(out, statusOf(sh.part.Delete(k, cond, sh.now(c)))), nil
}

func (sh *shard) touch(c *rpc.Call, arg, out []byte) ([]byte, error) {
	key, ttl, err := command.ParseTouch(arg)
	if err != nil {
		return out, malformed(command.Touch)
	}
	k, here := sh.key(c, key)
	if !here {
		return command.AppendStatus(out, command.WrongCore), nil
	}
	now := sh.now(c)
	return command.AppendStatus(out, statusOf(sh.part.Touch(k, expiry(now, ttl), now))), nil
}

func (sh *shard) incr(c *rpc.Call, arg, out []byte) ([]byte, error) {
	key, delta, err := command.ParseIncr(arg)
	if err != nil {
		return out, malformed(command.Incr)
	}
	k, here := sh.key(c, key)
	if !here {
		return command.AppendStatus(out, command.WrongCore), nil
	}
	sum, version, err := store.Incr(sh.part, k, delta, sh.now(c), sh.counter[:])
	if err != nil {
		return command.AppendStatus(out, statusOf(err)), nil
	}
	return command.AppendCounted(out, sum, version), nil
}

// hello tells a client about the server.
func (sh *shard) hello(arg, out []byte) ([]byte, error) {
	protocol, err := command.ParseHello(arg)
	if err != nil {
		return out, malformed(command.Hello)
	}
	if protocol != command.Protocol {
		return out, &rpc.Error{Code: rpc.CodeFailed, Text: fmt.Sprintf(
			"the client speaks protocol %d, the server %d: use programs of the same version", protocol, command.Protocol)}
	}
	w := sh.server.welcome
	w.Core, w.Now = sh.index, sh.clientTime()
	text, err := json.Marshal(w)
	if err != nil {
		return out, err
	}
	return command.AppendStatus(append(out, text...), command.OK), nil
}

// conditionOf translates a condition that came by wire.
func conditionOf(c command.Condition, version uint64) store.Condition {
	switch c {
	case command.IfAbsent:
		return store.IfAbsent()
	case command.IfPresent:
		return store.IfPresent()
	case command.IfVersion:
		return store.IfVersion(version)
	case command.Always:
	}
	return store.Always()
}

// statusOf translates an error of the store.
func statusOf(err error) command.Status {
	switch {
	case err == nil:
		return command.OK
	case errors.Is(err, store.ErrNotFound):
		return command.NotFound
	case errors.Is(err, store.ErrExists):
		return command.Exists
	case errors.Is(err, store.ErrVersion):
		return command.Changed
	case errors.Is(err, store.ErrTooLarge):
		return command.TooLarge
	case errors.Is(err, store.ErrNotNumber):
		return command.NotNumber
	}
	return command.Full
}
