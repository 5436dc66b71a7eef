package rfp_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/rfp"
)

// manyServer serves messages by what their third byte says: m are served by ServeMany,
// l too, with a long result, and all others by Serve.
type manyServer struct {
	told   [][]byte
	wrong  error // of what ServeMany was given
	served int   // by ServeMany
}

func (m *manyServer) expect(_ int, batch [][]byte) {
	m.told = m.told[:0]
	for _, msg := range batch {
		m.told = append(m.told, bytes.Clone(msg))
	}
}

func (m *manyServer) serve(_ *rpc.Call, msg, out []byte) ([]byte, error) {
	return append(append(out, "one "...), msg[rpc.ProcSize:]...), nil
}

// longOf is the result of a message that has a long one.
func longOf(msg []byte) []byte { return bytes.Repeat(msg, 3000/len(msg)) }

func (m *manyServer) serveMany(c *rpc.Call, batch [][]byte, out *rfp.Results) (served int, long []byte) {
	for i, msg := range batch {
		if !bytes.Equal(msg, m.told[c.Announced-1+i]) {
			m.wrong = fmt.Errorf("message %d is %.20q, announced was %.20q", c.Announced+i, msg, m.told[c.Announced-1+i])
		}
		room := out.Room()
		if room == nil {
			break
		}
		msg = msg[rpc.ProcSize:]
		switch {
		case len(msg) != 0 && msg[0] == 'm' && len(msg)+len("many ") <= len(room):
			out.Add(copy(room, append([]byte("many "), msg...)))
		case len(msg) != 0 && msg[0] == 'l':
			c.After = []byte(" after")
			m.served += served + 1
			return served, longOf(msg)
		default:
			m.served += served
			return served, nil
		}
		served++
	}
	m.served += served
	return served, nil
}

// wantMany is the result of a message.
func wantMany(arg string) string {
	switch {
	case len(arg) != 0 && arg[0] == 'm':
		return "many " + arg
	case len(arg) != 0 && arg[0] == 'l':
		return string(longOf([]byte(arg))) + " after"
	}
	return "one " + arg
}

// Messages are answered in their order, however they are served: in one go, one at a time,
// with long results among them, and over the ends of frames.
func TestServeMany(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		var m manyServer
		s := r.serve(rfp.ServerConfig{Expect: m.expect, Serve: m.serve, ServeMany: m.serveMany})
		c := r.dial(rfp.ConnConfig{Batch: 20, Window: 4})
		var args []string
		for i := range 400 {
			switch {
			case i%37 == 5:
				args = append(args, fmt.Sprint("l", i))
			case i%7 == 3:
				args = append(args, fmt.Sprint("x", i))
			case i%50 == 49:
				args = append(args, "")
			default:
				args = append(args, fmt.Sprintf("m%0*d", 1+i%90, i))
			}
		}
		next := 0
		take := func() {
			data, ok := c.NextShort()
			var err error
			if !ok {
				data, err, ok = c.Next()
			}
			if !ok {
				if !c.Wait(patience) {
					t.Fatalf("no result of %q: %v", args[next], c.Err())
				}
				return
			}
			if err != nil || string(data) != wantMany(args[next]) {
				t.Fatalf("%q: %.40q, %v, want %.40q", args[next], data, err, wantMany(args[next]))
			}
			next++
		}
		for _, arg := range args {
			err := c.SendArg(0, 0, arg)
			for errors.Is(err, rpc.ErrWindowFull) {
				take()
				err = c.SendArg(0, 0, arg)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := c.Flush(); err != nil {
			t.Fatal(err)
		}
		for next < len(args) {
			take()
		}
		if err := s.Close(); err != nil { // its core touches m no more
			t.Fatal(err)
		}
		if m.wrong != nil || m.served < 200 {
			t.Errorf("%d served in one go; %v", m.served, m.wrong)
		}
	})
}

// Where ServeMany panics, what it has served stays served, and Serve has the message that it
// panicked at.
func TestServeManyPanics(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		many := func(c *rpc.Call, batch [][]byte, out *rfp.Results) (served int, long []byte) {
			for _, msg := range batch {
				if msg[rpc.ProcSize] == 'p' {
					c.After = []byte("behind the result")
					panic("asked to")
				}
				out.Add(copy(out.Room(), "many"))
				served++
			}
			return served, nil
		}
		one := func(_ *rpc.Call, msg, out []byte) ([]byte, error) {
			if bytes.HasSuffix(msg, []byte("panic")) {
				panic("asked to")
			}
			return append(out, "one"...), nil
		}
		s := r.serve(rfp.ServerConfig{Expect: func(int, [][]byte) {}, Serve: one, ServeMany: many})
		c := r.dial(rfp.ConnConfig{Batch: 6})
		args := []string{"many", "many", "panic", "pass", "many", "panic"}
		for _, arg := range args {
			if err := c.SendArg(0, 0, arg); err != nil {
				t.Fatal(err)
			}
		}
		for _, arg := range args {
			data, err, ok := c.Next()
			for !ok {
				if !c.Wait(patience) {
					t.Fatalf("no result of %q: %v", arg, c.Err())
				}
				data, err, ok = c.Next()
			}
			want := map[string]string{"many": "many", "pass": "one"}[arg]
			if string(data) != want || (err == nil) != (want != "") || err != nil && !errors.Is(err, &rpc.Error{Code: rpc.CodePanic}) {
				t.Errorf("%q: %q, %v", arg, data, err)
			}
		}
		if st := s.Stats(); st.Calls != 6 || st.Panics != 2 {
			t.Errorf("%+v", st)
		}
	})
}

// echoMany serves echoes in one go.
func echoMany(_ *rpc.Call, batch [][]byte, out *rfp.Results) (served int, long []byte) {
	for _, msg := range batch {
		room := out.Room()
		if len(msg) < rpc.ProcSize || binary.LittleEndian.Uint16(msg) != procEcho || len(msg) > len(room) {
			break
		}
		out.Add(copy(room, msg[rpc.ProcSize:]))
		served++
	}
	return served, nil
}

// What is hostile stays so where batches are served in one go.
func TestHostileClientsOfMany(t *testing.T) {
	r := newRig(t, provider.Loop)
	r.suffer(t, frameAttacks, rfp.ServerConfig{Expect: func(int, [][]byte) {}, ServeMany: echoMany})
}
