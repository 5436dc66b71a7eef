package host

import (
	"context"
	"io"
	"sync"
)

// PeerOver is a server process that another machine has started, at the other end of a
// connection. It has gone when the connection has; the end of ctx ends it.
func PeerOver[C Command, A any](ctx context.Context, conn io.ReadWriteCloser) *Peer[C, A] {
	gone := make(chan struct{})
	var once sync.Once
	end := func() error {
		once.Do(func() { close(gone) })
		return conn.Close()
	}
	stop := context.AfterFunc(ctx, func() { _ = end() })
	p := GoProcess(end, func() error {
		<-gone
		stop()
		return nil
	})
	return &Peer[C, A]{p, newWire[C, A](&watched{conn, end}, conn)}
}

// watched notices the end of what it reads.
type watched struct {
	io.Reader
	end func() error
}

// Read implements io.Reader.
func (w *watched) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	if err != nil {
		_ = w.end()
	}
	return n, err
}
