package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/remora-kv/remora"
)

func newDelCmd(_ *app) *cobra.Command {
	o := &clientOptions{}
	cmd := &cobra.Command{
		Use:     "del KEY...",
		Short:   "Delete keys",
		Long:    "Delete keys. All of them are tried.\n" + clientExitCodes,
		Example: "  remora del greeting farewell",
		Args:    keysOnly,
		RunE: func(cmd *cobra.Command, keys []string) error {
			return o.with(cmd, func(ctx context.Context, c *remora.Client) error {
				var errs error
				for _, key := range keys {
					errs = errors.Join(errs, c.Delete(ctx, key))
				}
				return errs
			})
		},
	}
	o.define(cmd.Flags())
	return cmd
}

func newIncrCmd(a *app) *cobra.Command {
	o := &clientOptions{}
	cmd := &cobra.Command{
		Use:   "incr KEY [DELTA]",
		Short: "Add to a number and print the sum",
		Long: `Add DELTA, 1 unless given, to the decimal number that is stored under a key, and
print the sum. The key must be there: make it with set KEY 0 --add.
` + clientExitCodes,
		Example: "  remora set visits 0 --add\n  remora incr visits\n  remora incr visits -- -5",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 || len(args) > 2 {
				return misuse("%s takes a key and perhaps a number", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			delta := int64(1)
			if len(args) == 2 {
				var err error
				if delta, err = strconv.ParseInt(args[1], 10, 64); err != nil {
					return misuse("%q is no number that fits into 64 bits", args[1])
				}
			}
			return o.with(cmd, func(ctx context.Context, c *remora.Client) error {
				sum, err := c.Incr(ctx, args[0], delta)
				if err != nil {
					return err
				}
				if a.json {
					return json.NewEncoder(a.out).Encode(map[string]any{"key": args[0], "value": sum})
				}
				_, err = fmt.Fprintln(a.out, sum)
				return err
			})
		},
	}
	o.define(cmd.Flags())
	return cmd
}

func newTouchCmd(_ *app) *cobra.Command {
	o := &clientOptions{}
	cmd := &cobra.Command{
		Use:     "touch KEY TTL",
		Short:   "Give a key another time to live",
		Long:    "Give a key another time to live, such as 90s or 24h; 0 is without end.\n" + clientExitCodes,
		Example: "  remora touch session-7 30m",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return misuse("%s takes a key and a time to live", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			ttl, err := time.ParseDuration(args[1])
			if err != nil || ttl < 0 {
				return misuse("%q is no time to live: write it as 90s, 30m or 24h, or 0 for no end", args[1])
			}
			return o.with(cmd, func(ctx context.Context, c *remora.Client) error { return c.Touch(ctx, args[0], ttl) })
		},
	}
	o.define(cmd.Flags())
	return cmd
}

func newPingCmd(a *app) *cobra.Command {
	o := &clientOptions{}
	cmd := &cobra.Command{
		Use:     "ping",
		Short:   "Ask every core of a server for a sign of life",
		Long:    "Ask every core of a server for a sign of life, and say over what it came.\n" + clientExitCodes,
		Example: "  remora ping --server tcp://cache-1:7700",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.with(cmd, func(ctx context.Context, c *remora.Client) error {
				start := time.Now()
				if err := c.Ping(ctx); err != nil {
					return err
				}
				took, info := time.Since(start), c.Info()
				if a.json {
					return json.NewEncoder(a.out).Encode(map[string]any{
						"server": info.Addr, "fabric": info.Fabric, "device": info.Device, "cores": info.Cores,
						"version": info.Version, "us": float64(took.Nanoseconds()) / 1e3,
					})
				}
				_, err := fmt.Fprintf(a.out, "%s answers over %s (%s), %d cores, %s, in %v\n",
					info.Addr, info.Fabric, info.Device, info.Cores, info.Version, took.Round(time.Microsecond))
				return err
			})
		},
	}
	o.define(cmd.Flags())
	return cmd
}
