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

// longestValue is the largest that any server stores.
const longestValue = 64 << 20

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
		Long: `Store a value under a key. Without VALUE, or if it is -, the value is read from
standard input, byte for byte.`,
		Example: `  remora set greeting hello
  remora set picture < picture.png
  remora set session-7 active --ttl 30m
  remora set leader $HOSTNAME --add --ttl 10s     only if the key is absent
  remora set config "$new" --cas 1234             only if the version is still 1234`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 || len(args) > 2 {
				return misuse("%s takes a key and a value, or a key and the value from standard input", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.set(cmd, o, args) },
	}
	f := cmd.Flags()
	f.DurationVar(&o.ttl, "ttl", 0, "time to live, such as 90s or 24h (default: no expiry)")
	f.BoolVar(&o.add, "add", false, "store only if the key is absent")
	f.BoolVar(&o.replace, "replace", false, "store only if the key is present")
	f.Uint64Var(&o.cas, "cas", 0, "store only if the item still has this `VERSION` (see get --json)")
	f.Uint32Var(&o.flags, "flags", 0, "`NUMBER` to keep with the value, for the application")
	o.define(cmd)
	return cmd
}

func (o *setOptions) condition(cmd *cobra.Command) (remora.Condition, error) {
	if err := exclusive(cmd, "add", "replace", "cas"); err != nil {
		return remora.Always(), err
	}
	switch {
	case o.add:
		return remora.IfAbsent(), nil
	case o.replace:
		return remora.IfPresent(), nil
	case cmd.Flags().Changed("cas"):
		return remora.IfVersion(o.cas), nil
	}
	return remora.Always(), nil
}

func (a *app) set(cmd *cobra.Command, o *setOptions, args []string) error {
	if o.ttl < 0 {
		return misuse("--ttl %v must not be negative", o.ttl)
	}
	condition, err := o.condition(cmd)
	if err != nil {
		return err
	}
	var value []byte
	if len(args) == 2 && args[1] != "-" {
		value = []byte(args[1])
	} else {
		if value, err = a.readValue(cmd.Context()); err != nil {
			return fmt.Errorf("reading the value from standard input: %w", err)
		}
	}
	return o.with(cmd, func(ctx context.Context, c *remora.Client) error {
		version, err := c.Put(ctx, args[0], remora.Entry{Value: value, Flags: o.flags, TTL: o.ttl}, condition)
		if err != nil || !a.json {
			return err
		}
		return json.NewEncoder(a.out).Encode(map[string]any{"key": args[0], "version": version})
	})
}

// readValue reads standard input, until ctx ends: no input may come. It reads no more
// than it takes for a server to refuse the value.
func (a *app) readValue(ctx context.Context) (value []byte, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		value, err = io.ReadAll(io.LimitReader(a.in, longestValue+1))
	}()
	select {
	case <-done:
		return value, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
