package calls

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/remora-kv/remora/bench/load"
	"github.com/remora-kv/remora/internal/cycles"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/rfp"
)

// lane is a connection in use. It belongs to one driver.
type lane struct {
	conn  *rfp.Conn
	check checker
	msg   []byte
	most  int    // calls in flight
	of    uint64 // how many lanes its driver has

	sent, got uint64 // since the connection was made; results come in order
	end       uint64 // value of sent at which the run ends
	timed     uint64 // number of the next call to be timed
	stamps    stamps
}

func newLane(conn *rfp.Conn, c *Case) *lane {
	l := &lane{conn: conn, check: checker{c.Size, c.ResultSize}, most: c.Window * c.Batch}
	if c.Limit != 0 {
		l.most = c.Window * c.batchMost()
	}
	l.stamps.ring = make([]stamp, l.most)
	l.msg = make([]byte, rpc.ProcSize+c.Size)
	binary.LittleEndian.PutUint16(l.msg, procedure)
	return l
}

// begin prepares a run.
func (l *lane) begin(m *load.Meter) {
	l.end, l.timed = l.sent+m.Limit, l.sent
	l.stamps.reset()
}

// fill sends until the window is full or the run is at its end.
func (l *lane) fill(m *load.Meter) error {
	for l.sent < l.end && l.conn.Outstanding() < l.most {
		l.check.number(l.msg[rpc.ProcSize:], l.sent)
		if l.sent == l.timed {
			l.stamps.push(stamp{l.sent, cycles.Now()})
		}
		if err := l.conn.Send(class, l.msg); err != nil {
			if l.sent == l.timed {
				l.stamps.drop()
			}
			if errors.Is(err, rpc.ErrWindowFull) {
				return nil
			}
			return err
		}
		if l.sent == l.timed {
			l.timed += m.Gap()
		}
		l.sent++
	}
	if l.sent == l.end {
		return l.conn.Flush()
	}
	return nil
}

// drain takes results that are there, those of one frame.
func (l *lane) drain(m *load.Meter) error {
	flight := (l.sent - l.got) * l.of
	for n := l.conn.Batch(); n > 0 && l.got < l.sent; n-- {
		data, ok := l.conn.NextShort()
		var err error
		if !ok {
			if data, err, ok = l.conn.Next(); !ok {
				return l.conn.Err()
			}
		}
		if first, some := l.stamps.first(); some && first.number == l.got {
			m.Took(first.tick, flight)
			l.stamps.take()
		}
		if err != nil {
			m.Errors++
		} else if err := l.check.result(data, l.got); err != nil {
			return err
		}
		l.got++
		m.Ops++
	}
	return nil
}

// stamp is when a call was sent.
type stamp struct{ number, tick uint64 }

// stamps are those of calls in flight, in order: a ring.
type stamps struct {
	ring     []stamp
	at, size int
}

func (s *stamps) reset() { s.at, s.size = 0, 0 }

func (s *stamps) push(t stamp) {
	i := s.at + s.size
	if i >= len(s.ring) {
		i -= len(s.ring)
	}
	s.ring[i] = t
	s.size++
}

// drop takes back what was pushed last.
func (s *stamps) drop() { s.size-- }

func (s *stamps) first() (stamp, bool) {
	if s.size == 0 {
		return stamp{}, false
	}
	return s.ring[s.at], true
}

func (s *stamps) take() {
	if s.at++; s.at == len(s.ring) {
		s.at = 0
	}
	s.size--
}

// checker numbers arguments and checks results (C7).
type checker struct{ size, want int }

const numberSize = 8

func (k checker) number(arg []byte, n uint64) {
	if k.size >= numberSize {
		binary.LittleEndian.PutUint64(arg, n)
	}
}

func (k checker) result(data []byte, n uint64) error {
	if len(data) != k.want {
		return fmt.Errorf("a result of %d bytes, want %d", len(data), k.want)
	}
	if min(k.size, k.want) < numberSize {
		return nil
	}
	if got := binary.LittleEndian.Uint64(data); got != n {
		return fmt.Errorf("a result of call %d, want that of call %d", got, n)
	}
	return nil
}
