package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/remora-kv/remora/kvl/keli"
)

// reloadTime is the default timeout of a reload.
const reloadTime = 10 * time.Minute

func newKVLReloadCmd(a *app) *cobra.Command {
	o := &clientOptions{}
	cmd := &cobra.Command{
		Use:   "reload",
		Short: "Make a server load its source again",
		Long: `Make a server of items with links load its source again, and wait until the new
generation is served. If loading fails, the server keeps the previous one and the exit
code is 1. The server must allow this with --allow-reload, because loading costs time
and memory; SIGHUP to its process does the same.`,
		Example: `  remora kvl reload
  remora kvl reload --server tcp://items.example:7700 --timeout 1h`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.withItems(cmd, a.reload) },
	}
	o.defineForItems(cmd)
	o.timeout = reloadTime
	cmd.Flags().Lookup("timeout").DefValue = reloadTime.String()
	return cmd
}

func (a *app) reload(ctx context.Context, c *keli.Client) error {
	generation, err := c.Reload(ctx)
	if errors.Is(err, keli.ErrNotAllowed) {
		return fmt.Errorf("%w\nStart it with --allow-reload, or send SIGHUP to its process", err)
	}
	if err != nil {
		return err
	}
	if a.json {
		return json.NewEncoder(a.out).Encode(map[string]uint64{"generation": generation})
	}
	_, err = fmt.Fprintf(a.out, "generation %d\n", generation)
	return err
}
