package serving_test

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/shm"
	"github.com/remora-kv/remora/fabric/tcp"
	"github.com/remora-kv/remora/rpc/internal/serving"
	"github.com/remora-kv/remora/test/cachetest"
)

// A client whose handshake does not end delays no other.
func TestSlowHandshake(t *testing.T) {
	r := newRig(t)
	slow, end := make(chan struct{}), make(chan struct{})
	r.admit = func(_ context.Context, req fabric.ConnRequest) error {
		if string(req.Private()) == "slow" {
			close(slow)
			<-end
		}
		return errors.New(string(req.Private()))
	}
	addr, err := r.listen("front")
	if err != nil {
		t.Fatal(err)
	}
	queues := newQueues(t, r.client)
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { _, _ = r.client.Dial(context.Background(), addr, queues, []byte("slow")) })
	defer close(end)
	<-slow
	if !r.admits(addr) {
		t.Error("nobody is admitted beside a slow client")
	}
}

// newQueues makes what a queue pair needs.
func newQueues(t *testing.T, dev fabric.Device) fabric.QPConfig {
	t.Helper()
	dom, err := dev.NewDomain()
	if err != nil {
		t.Fatal(err)
	}
	cq, err := dev.NewCQ(1 << 16)
	if err != nil {
		t.Fatal(err)
	}
	return fabric.QPConfig{Domain: dom, SendCQ: cq, RecvCQ: cq, SendDepth: 1, RecvDepth: 1}
}

// As many clients as a server can have may dial at the same moment.
func TestCrowd(t *testing.T) {
	const crowd = 800
	for name, open := range map[string]func() (fabric.Device, error){
		"shm:" + filepath.Join(t.TempDir(), "sock"): func() (fabric.Device, error) { return shm.New(shm.Config{}) },
		"tcp://127.0.0.1:0":                         func() (fabric.Device, error) { return tcp.New(tcp.Config{}) },
	} {
		addr, err := fabric.ParseAddr(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(addr.Fabric, func(t *testing.T) {
			var devs [2]fabric.Device
			for i := range devs {
				var err error
				if devs[i], err = open(); err != nil {
					t.Fatal(err)
				}
				defer func() { _ = devs[i].Close() }()
			}
			qps := make(chan fabric.QP, 2*crowd)
			server := newQueues(t, devs[0])
			var said cachetest.Log
			a := serving.NewAcceptor(&serving.Config{
				Path: "test", Devices: devs[:1], MaxClients: 1024, Cores: 1, Log: slog.New(slog.NewTextHandler(&said, nil)),
				Admit: func(ctx context.Context, _ fabric.Device, req fabric.ConnRequest) error {
					qp, err := req.Accept(ctx, server, nil)
					if err == nil {
						qps <- qp
					}
					return err
				},
			})
			defer func() { _ = a.Close() }()
			addr, err := a.Listen(devs[0], addr, fabric.ListenConfig{})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			client := newQueues(t, devs[1])
			start := make(chan struct{})
			var wg sync.WaitGroup
			for range crowd {
				wg.Go(func() {
					<-start
					qp, err := devs[1].Dial(ctx, addr, client, nil)
					if err != nil {
						t.Error(err)
						return
					}
					qps <- qp
				})
			}
			close(start)
			wg.Wait()
			if err := a.Close(); err != nil {
				t.Error(err)
			}
			close(qps)
			for qp := range qps {
				_ = qp.Close()
			}
			if said.String() != "" {
				t.Errorf("logged: %s", &said)
			}
		})
	}
}
