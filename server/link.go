package server

import (
	"github.com/remora-kv/remora/internal/command"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/store"
)

// link is a get that says where the item is, and what its client has used meanwhile.
func (sh *shard) link(c *rpc.Call, arg, out []byte) ([]byte, error) {
	if sh.server.draining.Load() {
		return command.AppendStatus(out, command.Draining), nil
	}
	key, uses, err := command.ParseLink(arg, &sh.uses)
	if err != nil {
		return out, malformed(command.Link)
	}
	k, here := sh.key(c, key)
	if !here {
		return command.AppendStatus(out, command.WrongCore), nil
	}
	if sh.user != nil && uses != 0 {
		sh.user.Used(sh.uses[:uses])
	}
	now := sh.now(c)
	if err := sh.reader.Read(k, now, &sh.item); err != nil {
		return command.AppendStatus(out, statusOf(err)), nil
	}
	return sh.linked(c, k, now, out)
}

// linked returns the item that was read last, with its place and the time. What does not fit a frame
// is not read by a link, and has neither.
func (sh *shard) linked(c *rpc.Call, k store.Key, now int64, out []byte) ([]byte, error) {
	item := &sh.item
	if len(item.Value)+command.PlacedSize > cap(out)-len(out) {
		return sh.apart(c, now), nil
	}
	place := command.Place{Clock: uint32(sh.clientTime())}
	if sh.linker != nil {
		if l, ok := sh.linker.LinkOf(k); ok && l.Span.Off <= command.MaxPlaceOff && l.Span.Len <= command.MaxPlaceLen {
			place.Off, place.Len, place.Area = uint64(l.Span.Off), uint16(l.Span.Len), uint8(l.Span.Area)
		}
	}
	out = command.AppendPlace(append(out, item.Value...), &place)
	return command.AppendPlaced(out, item.Version, sh.left(now), item.Flags), nil
}
