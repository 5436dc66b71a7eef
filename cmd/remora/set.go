package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/remora-kv/remora"
)

// setOptions are the flags of set.
type setOptions struct {
	clientOptions
	ttl          time.Duration
	flags        uint32
	add, replace bool
	cas          uint64
}

func newSetCmd(a *app) *cobra.Command {
	o := &setOptions{}
	cmd := &cobra.Command{
		Use:   "set KEY [VALUE]",
		Short: "Store a value under a key",
		Long: `Store a value under a key. Without VALUE, or when it is -, the value is what
comes from standard input, byte for byte.
` + clientExitCodes,
		Example: `  remora set greeting hello
  remora set picture < picture.png
  remora set session-7 active --ttl 30m
  remora set leader $HOSTNAME --add --ttl 10s     only if there is none
  remora set config "$new" --cas 1234             only if it is still that version`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 || len(args) > 2 {
				return misuse("%s takes a key and a value, or a key and the value from standard input", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.set(cmd, o, args) },
	}
	f := cmd.Flags()
	o.define(f)
	f.DurationVar(&o.ttl, "ttl", 0, "how long it may be got, such as 90s or 24h (default: without end)")
	f.Uint32Var(&o.flags, "flags", 0, "a `NUMBER` to be kept with it")
	f.BoolVar(&o.add, "add", false, "only if the key is not there")
	f.BoolVar(&o.replace, "replace", false, "only if the key is there")
	f.Uint64Var(&o.cas, "cas", 0, "only if the item still has this `VERSION` (see get --json)")
	cmd.MarkFlagsMutuallyExclusive("add", "replace", "cas")
	return cmd
}

func (o *setOptions) condition() remora.Condition {
	switch {
	case o.add:
		return remora.IfAbsent()
	case o.replace:
		return remora.IfPresent()
	case o.cas != 0:
		return remora.IfVersion(o.cas)
	}
	return remora.Always()
}

func (a *app) set(cmd *cobra.Command, o *setOptions, args []string) error {
	if o.ttl < 0 {
		return misuse("a time to live of %v is negative", o.ttl)
	}
	var value []byte
	if len(args) == 2 && args[1] != "-" {
		value = []byte(args[1])
	} else {
		var err error
		if value, err = io.ReadAll(a.in); err != nil {
			return fmt.Errorf("reading the value from standard input: %w", err)
		}
	}
	return o.with(cmd, func(ctx context.Context, c *remora.Client) error {
		version, err := c.Put(ctx, args[0], remora.Entry{Value: value, Flags: o.flags, TTL: o.ttl}, o.condition())
		if err != nil || !a.json {
			return err
		}
		return json.NewEncoder(a.out).Encode(map[string]any{"key": args[0], "version": version})
	})
}
