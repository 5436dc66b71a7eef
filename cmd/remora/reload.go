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

// reloadTime is how long a load may take that nobody has said otherwise about.
const reloadTime = 10 * time.Minute

func newReloadCmd(a *app) *cobra.Command {
	o := &clientOptions{}
	cmd := &cobra.Command{
		Use:   "reload",
		Short: "Have a server of items with links load its source again",
		Long: `Have a server of remora serve --kvl load its source again, and wait until what was
loaded is served. The server has to allow that by --kvl-command: loading takes its
time and memory, and whoever can connect could ask for it. SIGHUP to the server's
process does the same without asking.

Exit codes: 0 the new generation is served, 1 it could not be loaded and the one
before stays, or the server does not allow it, 2 wrong usage, 5 the server cannot be
reached.`,
		Example: `  remora reload
  remora reload --server tcp://items.example:7700 --timeout 1h`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.reload(cmd.Context(), a) },
	}
	o.define(cmd.Flags())
	o.timeout = reloadTime
	timeout := cmd.Flags().Lookup("timeout")
	timeout.DefValue, timeout.Usage = reloadTime.String(), "how long to wait"
	return cmd
}

func (o *clientOptions) reload(ctx context.Context, a *app) error {
	if o.timeout <= 0 {
		return misuse("a timeout of %v is not positive", o.timeout)
	}
	ctx, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	c, err := o.dialKVL(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	generation, err := c.Reload(ctx)
	if errors.Is(err, keli.ErrNotAllowed) {
		return fmt.Errorf("%w\nStart it with --kvl-command, or send SIGHUP to its process", err)
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

// dialKVL connects with a server of items with links.
func (o *clientOptions) dialKVL(ctx context.Context) (*keli.Client, error) {
	c, err := keli.Dial(ctx, o.server)
	if errors.Is(err, keli.ErrUnavailable) {
		return nil, fmt.Errorf("%w\nIs a server running there? Start one with: remora serve --kvl SOURCE --listen %s", err, o.server)
	}
	return c, err
}
