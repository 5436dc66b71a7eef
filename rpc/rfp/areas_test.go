package rfp_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/rpc/rfp"
	"github.com/remora-kv/remora/test/scale"
)

// A session has registered 64 KiB at most until a long message comes, and then the area of that
// direction as well. All is given back when the client leaves.
func TestIdleClientsCostLittle(t *testing.T) {
	const clients, area = 32, 256 << 10
	r := newRig(t, provider.Shm)
	handleBlow(r)
	dev := r.NewDevice()
	s := r.serve(rfp.ServerConfig{Device: dev})
	conns := make([]*rfp.Conn, clients)
	for i := range conns {
		conns[i] = r.dial(rfp.ConnConfig{})
		if got, err := call(t, conns[i], procEcho, []byte("short")); err != nil || string(got) != "short" {
			t.Fatalf("%q, %v", got, err)
		}
	}
	idle := memoryFor(dev, "rfp ")
	if each := idle / clients; each > 64<<10 {
		t.Errorf("an idle session has registered %d bytes", each)
	}
	if got, err := call(t, conns[0], procBlow, blow(10_000)[2:]); err != nil || len(got) != 10_000 {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	await(t, "the area for results", func() bool { return memoryFor(dev, "rfp ") > idle })
	if n := memoryFor(dev, "rfp request pieces"); n != 0 {
		t.Errorf("%d bytes for long requests, of which there was none", n)
	}
	if n := memoryFor(dev, "rfp result pieces"); n < area || n > 8*area {
		t.Errorf("%d bytes for long results of one client", n)
	}
	for _, c := range conns {
		_ = c.Close()
	}
	await(t, "the sessions to end", func() bool { return s.Stats().Clients == 0 })
	await(t, "the memory to be given back", func() bool { return memoryFor(dev, "rfp ") == 0 })
}

// Clients leave while their areas are being made.
func TestClientsLeaveBeforeTheirAreas(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		at := r.NewDevice()
		s := r.serve(rfp.ServerConfig{Device: at})
		dev := r.NewDevice()
		for n := range scale.Times(64) {
			c := r.dial(rfp.ConnConfig{Device: dev})
			if err := c.Send(1, request(procEcho, longPattern(3000+n, n))); err != nil {
				t.Fatal(err)
			}
			if n%2 == 0 {
				for !c.Poll() && n%4 == 0 {
				}
			}
			_ = c.Close()
		}
		await(t, "the sessions to end", func() bool { return s.Stats().Clients == 0 })
		if st := s.Stats(); st.Cut != 0 {
			t.Errorf("%+v", st)
		}
		if r.Fabric == provider.Shm {
			await(t, "the memory to be given back", func() bool { return memoryFor(at, "rfp ") == 0 })
		}
	})
}

// scarce is a device whose domains have no memory for pieces.
type scarce struct{ fabric.Device }

var errScarce = errors.New("scarce memory")

type scarceDomain struct{ fabric.Domain }

type scarceListener struct{ fabric.Listener }

type scarceRequest struct{ fabric.ConnRequest }

func (d *scarce) NewDomain() (fabric.Domain, error) {
	p, err := d.Device.NewDomain()
	return &scarceDomain{p}, err
}

func (d *scarce) Listen(addr fabric.Addr, cfg fabric.ListenConfig) (fabric.Listener, error) {
	l, err := d.Device.Listen(addr, cfg)
	return &scarceListener{l}, err
}

func (p *scarceDomain) Alloc(purpose string, size int, access fabric.Access) (*fabric.Region, error) {
	if strings.HasSuffix(purpose, " pieces") {
		return nil, errScarce
	}
	return p.Domain.Alloc(purpose, size, access)
}

func (l *scarceListener) Accept(ctx context.Context) (fabric.ConnRequest, error) {
	req, err := l.Listener.Accept(ctx)
	return &scarceRequest{req}, err
}

func (r *scarceRequest) Accept(ctx context.Context, cfg fabric.QPConfig, private []byte) (fabric.QP, error) {
	if p, ok := cfg.Domain.(*scarceDomain); ok {
		cfg.Domain = p.Domain
	}
	return r.ConnRequest.Accept(ctx, cfg, private)
}

// Where there is no memory for areas, long messages go on in short parts, and the log says why.
func TestNoMemoryForAreas(t *testing.T) {
	eachFabric(t, func(t *testing.T, r *rig) {
		log := &logbook{}
		s := r.serve(rfp.ServerConfig{Device: &scarce{r.NewDevice()}, Log: log.logger()})
		c := r.dial(rfp.ConnConfig{})
		for n := range 4 {
			arg := longPattern(100_000, n)
			if got, err := call(t, c, procEcho, arg); err != nil || !bytes.Equal(got, arg) {
				t.Fatalf("%d bytes, %v", len(got), err)
			}
		}
		await(t, "a word about memory", func() bool { return log.says(errScarce.Error()) })
		if st := s.Stats(); st.Cut+st.Lost != 0 || c.Stats().Pieces != 0 {
			t.Errorf("%+v, %+v", st, c.Stats())
		}
	})
}
