package command

import "encoding/binary"

const (
	codeBits = 0x0F
	// statusFlags, statusTTL and statusPlace say that these fields are present.
	statusFlags = 0x10
	statusTTL   = 0x20
	statusPlace = 0x40

	statusSize = 1
	sumSize    = 8
)

// FoundSize is how much longer than its value the result of a get is at most, and
// PlacedSize that of link.
const (
	FoundSize  = ttlSize + flagsSize + versionSize + statusSize
	PlacedSize = placeSize + FoundSize

	placeSize = 12
)

// Item is what a get returns.
type Item struct {
	Value   []byte
	Version uint64
	Flags   uint32
	TTL     uint64 // milliseconds that are left; 0 means no expiry
	Place   Place  // zero unless the request was link
}

// Place is where an item is in the memory that a server exports, and the time of the answer.
type Place struct {
	Off   uint64 // at most MaxPlaceOff
	Len   uint16 // 0 if the item has no place that clients can read
	Area  uint8
	Clock uint32 // the lowest bits of the server's time in milliseconds
}

const (
	// MaxPlaceOff is the largest offset of a place.
	MaxPlaceOff = 1<<areaShift - 1
	// MaxPlaceLen is the greatest length of a place.
	MaxPlaceLen = 1<<16 - 1

	areaShift = 40
	lenShift  = 48
)

// AppendPlace appends a place to a value; AppendPlaced follows.
func AppendPlace(b []byte, l *Place) []byte {
	b = binary.LittleEndian.AppendUint64(b, l.Off|uint64(l.Area)<<areaShift|uint64(l.Len)<<lenShift)
	return binary.LittleEndian.AppendUint32(b, l.Clock)
}

// AppendFound appends the result of a get that found an item.
func AppendFound(b []byte, item *Item) []byte {
	b = append(b, item.Value...)
	if item.Place == (Place{}) {
		return AppendTrailer(b, item.Version, item.TTL, item.Flags)
	}
	return AppendPlaced(AppendPlace(b, &item.Place), item.Version, item.TTL, item.Flags)
}

// AppendPlaced is AppendTrailer for a value that a place follows.
func AppendPlaced(b []byte, version, ttl uint64, flags uint32) []byte {
	b = AppendTrailer(b, version, ttl, flags)
	b[len(b)-1] |= statusPlace
	return b
}

// AppendTrailer appends the fields behind the value in the result of a get.
func AppendTrailer(b []byte, version, ttl uint64, flags uint32) []byte {
	status := OK
	if ttl != 0 {
		b = binary.LittleEndian.AppendUint64(b, ttl)
		status |= statusTTL
	}
	if flags != 0 {
		b = binary.LittleEndian.AppendUint32(b, flags)
		status |= statusFlags
	}
	return appendEnd(b, version, status)
}

// appendEnd appends a version and a status: as one word where there is room for a
// byte more than they take.
func appendEnd(b []byte, version uint64, status Status) []byte {
	if n := len(b); cap(b)-n >= 8 {
		binary.LittleEndian.PutUint64(b[n:n+8], version&maxVersion|uint64(status)<<(8*versionSize))
		return b[:n+versionSize+statusSize]
	}
	return append(appendVersion(b, version), byte(status))
}

// maxVersion are the bits of a version that travel.
const maxVersion = 1<<(8*versionSize) - 1

// ParseFound reads the result of a get. Its value is a prefix of msg. When the
// status is not OK there is no item.
func ParseFound(msg []byte) (item Item, s Status, err error) {
	if s, err = item.Read(msg); err != nil || s != OK {
		item = Item{}
	}
	return item, s, err
}

// ParsePlain reads the result of a get that found an item without flags and time to
// live, the usual case; ok is false for other results.
func ParsePlain(msg []byte) (value []byte, version uint64, ok bool) {
	n := len(msg) - versionSize - statusSize
	if n < 0 || msg[len(msg)-1] != byte(OK) {
		return nil, 0, false
	}
	return msg[:n], versionOf(msg[n : n+versionSize]), true
}

// Read is ParseFound into an item of the caller, whose contents are unspecified when the
// status is not OK.
func (item *Item) Read(msg []byte) (Status, error) {
	bits, rest, err := statusOf(msg)
	if err != nil {
		return 0, err
	}
	if s := Status(bits & codeBits); s != OK {
		return s, refused(bits, rest)
	}
	t := trailer{rest: rest}
	item.Version, item.Flags, item.TTL = t.version(), 0, 0
	if bits&statusFlags != 0 {
		item.Flags = t.uint32()
	}
	if bits&statusTTL != 0 {
		item.TTL = t.uint64()
	}
	item.Place = Place{}
	if bits&statusPlace != 0 {
		item.Place.Clock = t.uint32()
		at := t.uint64()
		item.Place.Off, item.Place.Area, item.Place.Len = at&MaxPlaceOff, uint8(at>>areaShift), uint16(at>>lenShift)
	}
	if t.short {
		return 0, ErrMalformed
	}
	item.Value = t.rest
	return OK, nil
}

// AppendStored appends the result of a put.
func AppendStored(b []byte, version uint64) []byte {
	return appendEnd(b, version, OK)
}

// ParseStored reads the result of a put.
func ParseStored(msg []byte) (version uint64, s Status, err error) {
	_, version, s, err = parseCounted(msg, 0)
	return version, s, err
}

// AppendCounted appends the result of an incr.
func AppendCounted(b []byte, sum int64, version uint64) []byte {
	return AppendStored(binary.LittleEndian.AppendUint64(b, uint64(sum)), version)
}

// ParseCounted reads the result of an incr.
func ParseCounted(msg []byte) (sum int64, version uint64, s Status, err error) {
	return parseCounted(msg, sumSize)
}

// AppendStatus appends a result that is only a status, or the status behind a text.
func AppendStatus(b []byte, s Status) []byte { return append(b, byte(s)) }

// ParseStatus reads a result that ends with a status alone: body is everything before it.
func ParseStatus(msg []byte) (body []byte, s Status, err error) {
	bits, rest, err := statusOf(msg)
	if err != nil || bits&^codeBits != 0 {
		return nil, 0, ErrMalformed
	}
	return rest, Status(bits), nil
}

// statusOf splits the status byte off.
func statusOf(msg []byte) (bits byte, rest []byte, err error) {
	if len(msg) < statusSize {
		return 0, nil, ErrMalformed
	}
	last := len(msg) - statusSize
	bits = msg[last]
	if Status(bits&codeBits) >= numStatuses || bits&^(codeBits|statusFlags|statusTTL|statusPlace) != 0 {
		return 0, nil, ErrMalformed
	}
	return bits, msg[:last], nil
}

// refused checks that a result which is not OK is only a status.
func refused(bits byte, rest []byte) error {
	if bits&^codeBits != 0 || len(rest) != 0 {
		return ErrMalformed
	}
	return nil
}

// parseCounted reads size bytes of a sum, a version and a status.
func parseCounted(msg []byte, size int) (sum int64, version uint64, s Status, err error) {
	body, s, err := ParseStatus(msg)
	if err != nil {
		return 0, 0, 0, err
	}
	if s != OK {
		return 0, 0, s, refused(byte(s), body)
	}
	if len(body) != size+versionSize {
		return 0, 0, 0, ErrMalformed
	}
	if size != 0 {
		sum = int64(binary.LittleEndian.Uint64(body))
	}
	return sum, versionOf(body[size:]), OK, nil
}

// trailer takes fields from the end of a message.
type trailer struct {
	rest  []byte
	short bool
}

func (t *trailer) take(n int) []byte {
	at := len(t.rest) - n
	if at < 0 {
		t.rest, t.short = nil, true
		return nil
	}
	b := t.rest[at:]
	t.rest = t.rest[:at]
	return b
}

func (t *trailer) version() uint64 {
	if b := t.take(versionSize); b != nil {
		return versionOf(b)
	}
	return 0
}

func (t *trailer) uint32() uint32 {
	if b := t.take(flagsSize); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (t *trailer) uint64() uint64 {
	if b := t.take(ttlSize); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}
