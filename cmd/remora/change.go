package main

import (
	"context"
	"encoding/json"
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
		Long:    "Delete keys. If one is missing, the others are deleted all the same.",
		Example: "  remora del greeting farewell",
		Args:    keysOnly,
		RunE: func(cmd *cobra.Command, keys []string) error {
			return o.with(cmd, func(ctx context.Context, c *remora.Client) error {
				return eachKey(keys, func(key string) error { return c.Delete(ctx, key) })
			})
		},
	}
	o.define(cmd)
	return cmd
}

func newIncrCmd(a *app) *cobra.Command {
	o := &clientOptions{}
	cmd := &cobra.Command{
		Use:   "incr KEY [DELTA]",
		Short: "Add to a number and print the sum",
		Long: `Add DELTA, by default 1, to the decimal number stored under a key, and print the
sum. The key must exist: create it with set KEY 0 --add.`,
		Example: "  remora set visits 0 --add\n  remora incr visits\n  remora incr visits -- -5",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 || len(args) > 2 {
				return misuse("%s takes a key and optionally a number", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			delta := int64(1)
			if len(args) == 2 {
				var err error
				if delta, err = strconv.ParseInt(args[1], 10, 64); err != nil {
					return misuse("%q is not a number of 64 bits", args[1])
				}
			}
			return o.with(cmd, func(ctx context.Context, c *remora.Client) error {
				sum, err := c.Incr(ctx, args[0], delta)
				if err != nil {
					return ofKey(args[0], err)
				}
				if a.json {
					return json.NewEncoder(a.out).Encode(map[string]any{"key": args[0], "value": sum})
				}
				_, err = fmt.Fprintln(a.out, sum)
				return err
			})
		},
	}
	o.define(cmd)
	return cmd
}

func newTouchCmd(_ *app) *cobra.Command {
	o := &clientOptions{}
	cmd := &cobra.Command{
		Use:     "touch KEY TTL",
		Short:   "Set the time to live of a key",
		Long:    "Set the time to live of a key, such as 90s or 24h. 0 removes the expiry.",
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
				return misuse("%q is not a time to live: write 90s, 30m or 24h, or 0 for no expiry", args[1])
			}
			return o.with(cmd, func(ctx context.Context, c *remora.Client) error { return ofKey(args[0], c.Touch(ctx, args[0], ttl)) })
		},
	}
	o.define(cmd)
	return cmd
}
