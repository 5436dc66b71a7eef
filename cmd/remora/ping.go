package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/remora-kv/remora"
	"github.com/remora-kv/remora/kvl/keli"
)

func newPingCmd(a *app) *cobra.Command {
	o := &clientOptions{}
	cmd := &cobra.Command{
		Use:     "ping",
		Short:   "Check that a server answers",
		Long:    "Check that every core of a server answers, and print over which fabric. Works with\na cache and with a server of items with links.",
		Example: "  remora ping --server tcp://cache-1:7700",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := o.withCache(cmd, func(ctx context.Context, c *remora.Client) error { return a.pingCache(ctx, c) })
			if !servesItems(err) {
				return err
			}
			return o.withItems(cmd, func(ctx context.Context, c *keli.Client) error { return a.pingItems(ctx, o.server, c) })
		},
	}
	o.define(cmd)
	return cmd
}

func (a *app) pingCache(ctx context.Context, c *remora.Client) error {
	start := time.Now()
	if err := c.Ping(ctx); err != nil {
		return err
	}
	took, info := time.Since(start), c.Info()
	if a.json {
		return json.NewEncoder(a.out).Encode(map[string]any{
			"server": info.Addr, "fabric": info.Fabric, "device": info.Device, "cores": info.Cores,
			"version": info.Version, "us": micros(took),
		})
	}
	_, err := fmt.Fprintf(a.out, "%s answers over %s (%s), %s, %s, in %v\n",
		info.Addr, info.Fabric, info.Device, plural(info.Cores, "core"), info.Version, took.Round(time.Microsecond))
	return err
}

func (a *app) pingItems(ctx context.Context, server string, c *keli.Client) error {
	start := time.Now()
	info, err := c.Info(ctx)
	if err != nil {
		return err
	}
	took := time.Since(start)
	if a.json {
		return json.NewEncoder(a.out).Encode(map[string]any{
			"server": server, "cores": info.Cores, "generation": info.Generation, "us": micros(took),
		})
	}
	_, err = fmt.Fprintf(a.out, "%s answers: items with links, generation %d, %s, in %v\n",
		server, info.Generation, plural(info.Cores, "core"), took.Round(time.Microsecond))
	return err
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }
