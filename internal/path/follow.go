package path

import (
	"encoding/binary"

	"github.com/remora-kv/remora/internal/command"
	"github.com/remora-kv/remora/store"
)

const followHead = 32

// AppendFollow appends the message of command.Follow, which follows a link to an item: the
// link and the key. It never leaves the client.
func AppendFollow(b []byte, at *store.Link, key string) []byte {
	le := binary.LittleEndian
	b = le.AppendUint64(b, uint64(at.Span.Off))
	b = le.AppendUint64(b, at.Version)
	b = le.AppendUint32(b, uint32(at.Span.Len))
	b = le.AppendUint64(b, uint64(at.Span.Area))
	b = le.AppendUint32(b, at.Sum)
	return append(b, key...)
}

// parseFollow is the inverse of AppendFollow.
func parseFollow(b []byte) (at store.Link, key []byte) {
	le := binary.LittleEndian
	at.Span.Off, at.Version = int64(le.Uint64(b)), le.Uint64(b[8:])
	at.Span.Len, at.Span.Area = int(le.Uint32(b[16:])), int(le.Uint64(b[20:]))
	at.Sum = le.Uint32(b[28:])
	return at, b[followHead:]
}

// LinkIn returns the link in the result of a get, if there is one that can be followed.
func LinkIn(result []byte) (store.Link, bool) {
	l, _, ok := linkIn(result)
	return l, ok
}

// linkIn is LinkIn, and returns the place as well, which has the server's time also where it has no
// link. It is zero if the result has none.
func linkIn(result []byte) (l store.Link, at command.Place, ok bool) {
	var item command.Item
	if status, err := item.Read(result); err != nil || status != command.OK {
		return l, at, false
	}
	at = item.Place
	if at.Len == 0 || at.Len > readBuffer {
		return l, at, false
	}
	span := store.Span{Area: int(at.Area), Off: int64(at.Off), Len: int(at.Len)}
	return store.Link{Span: span, Version: item.Version, Sum: store.LinkSum(item.Value, item.Flags)}, at, true
}
