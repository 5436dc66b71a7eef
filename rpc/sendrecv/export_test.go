package sendrecv

// HelloSize is the length of a hello.
const HelloSize = helloSize

// AppendHello appends any hello.
func AppendHello(b []byte, core uint16, window, message int) []byte {
	h := hello{core: core, dimensions: dimensions{window, message}}
	return append(b, h.bytes()...)
}

// The kinds of messages.
const (
	KindRequest = uint8(kindRequest)
	KindResult  = uint8(kindResult)
	KindReady   = uint8(kindReady)
)

// AppendMessage appends any message.
func AppendMessage(b []byte, number uint32, k uint8, msg []byte) []byte {
	var h [headerSize]byte
	header{number, kind(k)}.put(h[:])
	return append(append(b, h[:]...), msg...)
}

// WelcomeOf makes the welcome of a server.
func WelcomeOf(core, cores, window, message int) []byte {
	w := welcome{core, cores, dimensions{window, message}}
	return w.bytes()
}

// Sleeps returns how often a core without a host has slept.
func (s *Server) Sleeps(core int) uint64 { return s.base.Cores[core].Waiter.Sleeps() }
