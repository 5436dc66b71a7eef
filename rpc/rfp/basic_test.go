package rfp_test

import (
	"errors"
	"testing"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/rpc"
	"github.com/remora-kv/remora/rpc/rfp"
)

// TestBasicInterface is send and receive at both ends, without handlers.
func TestBasicInterface(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		e, err := rfp.NewEndpoint(rfp.ServerConfig{Device: r.NewDevice()})
		if err != nil {
			t.Fatal(err)
		}
		if r.Addr, err = e.Server().Listen(r.Listen, fabric.ListenConfig{}); err != nil {
			t.Fatal(err)
		}
		served := make(chan error, 1)
		go func() { served <- serveLengths(e) }()
		c := r.dial(rfp.ConnConfig{})
		b, err := c.NewBuffer(4000)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{0, 1, 100, 2999} {
			copy(b.Bytes(), pattern(n, 1))
			if err := c.SendBuffer(b, n); err != nil {
				t.Fatal(err)
			}
			got, err := c.RecvBuffer(b, patience)
			if err != nil || got != n+1 || b.Bytes()[n] != '!' {
				t.Fatalf("%d bytes sent, %d received, %v", n, got, err)
			}
		}
		if err := c.SendBuffer(b, 3500); err != nil {
			t.Fatal(err)
		}
		if _, err := c.RecvBuffer(b, patience); !errors.Is(err, &rpc.Error{Code: rpc.CodeTooLarge}) {
			t.Errorf("a message too long for the server's buffer: %v", err)
		}
		if err := b.Free(); err != nil {
			t.Error(err)
		}
		e.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}

// serveLengths answers every message with itself and one byte more.
func serveLengths(e *rfp.Endpoint) error {
	b, err := e.NewBuffer(3000)
	if err != nil {
		return err
	}
	for {
		n, _, err := e.Recv(b)
		switch {
		case errors.Is(err, rpc.ErrTooLarge):
			continue
		case errors.Is(err, rpc.ErrClosed):
			return errors.Join(b.Free(), e.Close())
		case err != nil:
			return err
		}
		b.Bytes()[n] = '!'
		if err := e.Send(b, n+1); err != nil {
			return err
		}
	}
}

// domainless is a device that has run out of protection domains.
type domainless struct{ fabric.Device }

var errNoDomain = errors.New("no more domains")

func (domainless) NewDomain() (fabric.Domain, error) { return nil, errNoDomain }

func TestEndpointThatCannotBeMade(t *testing.T) {
	r := newRig(t, fabrics[0])
	if _, err := rfp.NewEndpoint(rfp.ServerConfig{Device: domainless{r.NewDevice()}}); !errors.Is(err, errNoDomain) {
		t.Errorf("%v", err)
	}
}
