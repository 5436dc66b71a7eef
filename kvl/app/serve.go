package app

import (
	"context"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/kvl"
	"github.com/remora-kv/remora/kvl/keli"
)

// Serve publishes what links gives to a builder (Graph.Links and the like), and listens.
func Serve(ctx context.Context, dev fabric.Device, addr fabric.Addr, links func(*kvl.Builder) error) (*keli.Server, error) {
	s, err := keli.NewServer(keli.Config{Device: dev})
	if err != nil {
		return nil, err
	}
	err = s.Publish(func(cfg kvl.Config) (*kvl.Image, error) {
		cfg.Inline = Inline
		b, err := kvl.NewBuilder(cfg)
		if err != nil {
			return nil, err
		}
		defer b.Close()
		if err := links(b); err != nil {
			return nil, err
		}
		return b.Seal(ctx)
	})
	if err == nil {
		_, err = s.Listen(addr, fabric.ListenConfig{})
	}
	if err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}
