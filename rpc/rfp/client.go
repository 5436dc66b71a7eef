package rfp

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/driver"
)

// Client makes calls from any number of goroutines over one connection. Of those
// that wait for a result, one at a time drives the connection for all (package
// driver). It puts the calls that have come meanwhile into one frame, so that
// concurrency becomes batches, and a lone caller pays for no other.
type Client struct {
	conn   *Conn
	client *driver.Client
}

// Pending is a call in flight.
type Pending = driver.Pending

// DialClient connects to a server. In cfg, Batch is how many calls a frame takes
// at most; default 32. They do not wait for one another.
func DialClient(ctx context.Context, addr fabric.Addr, cfg ConnConfig) (*Client, error) {
	cfg.Batch = cmp.Or(cfg.Batch, 32)
	conn, err := Dial(ctx, addr, cfg)
	if err != nil {
		return nil, err
	}
	return NewClient(conn), nil
}

// errProc is the error of a call of a procedure that can have no mode of its own.
var errProc = fmt.Errorf("rfp: the highest number of a procedure is %d: %w: %w", rpc.MaxProc, fabric.ErrInvalid, rpc.ErrNotSent)

// NewClient makes a client of a connection, which it owns from now on.
func NewClient(conn *Conn) *Client {
	return &Client{conn: conn, client: driver.New(conn.Driven())}
}

// Conn returns the connection, for its getters and counters.
func (c *Client) Conn() *Conn { return c.conn }

// Call calls a procedure, whose number is at most rpc.MaxProc, and returns its result appended to out. Even with an error it may
// overwrite the capacity of out behind its length. arg may be used again when Call
// returns. The error is an *rpc.Error if the handler failed, that of ctx if ctx ended,
// otherwise the reason why the call could not be sent or the connection is over. Unless it is
// rpc.ErrNotSent too, the server may have served the call. A call whose context has ended is
// not sent.
func (c *Client) Call(ctx context.Context, proc uint16, arg, out []byte) ([]byte, error) {
	return c.client.Call(ctx, &driver.Message{Proc: proc, Class: uint8(proc), Head: arg}, out)
}

// CallGather is Call with the argument that is head and, behind it, body.
func (c *Client) CallGather(ctx context.Context, proc uint16, head, body, out []byte) ([]byte, error) {
	return c.client.Call(ctx, &driver.Message{Proc: proc, Class: uint8(proc), Head: head, Body: body}, out)
}

// Go starts a call and returns at once. Pending.Wait, which must be called, returns the
// result. Neither arg nor out may be touched until Wait returns.
func (c *Client) Go(proc uint16, arg, out []byte) *Pending {
	return c.client.Go(&driver.Message{Proc: proc, Class: uint8(proc), Head: arg}, out)
}

// Close ends the connection; calls without a result fail.
func (c *Client) Close() error { return c.client.Close() }

// Driven is a connection as a driver.Client uses it.
type Driven struct {
	*Conn
	scratch []byte
}

// Driven returns the connection as a driver.Client uses it.
func (c *Conn) Driven() *Driven { return &Driven{Conn: c} }

// Send implements driver.Conn.
func (d *Driven) Send(m *driver.Message) error {
	if m.Proc > rpc.MaxProc {
		return errProc
	}
	class := m.Class
	arg := message{m.Head, m.Body}
	if n := rpc.ProcSize + arg.len(); n <= d.frameRoom() {
		b, err := d.Reserve(class, n)
		if err != nil {
			return err
		}
		binary.LittleEndian.PutUint16(b, m.Proc)
		arg.copyTo(b[rpc.ProcSize:])
		return d.Commit()
	}
	d.scratch = append(binary.LittleEndian.AppendUint16(d.scratch[:0], m.Proc), arg.head...)
	err := d.SendGather(class, d.scratch, arg.body)
	d.scratch = keepSmall(d.scratch)
	return err
}

// Flush implements driver.Conn. What ends the connection is in Err.
func (d *Driven) Flush() { _ = d.Conn.Flush() }

// WaitMore implements driver.Conn.
func (d *Driven) WaitMore(more func() bool, limit time.Duration) {
	if !d.spin(more) {
		d.waitFor(more, limit)
	}
}

// Wake implements driver.Conn.
func (d *Driven) Wake() {
	d.spinner.Wake()
	d.sleeper.Wake()
	d.drowsy.Wake()
}

// Disconnect implements driver.Conn.
func (d *Driven) Disconnect() { _ = d.end.QP.Disconnect() }
