package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/remora-kv/remora"
	"github.com/remora-kv/remora/kvl/keli"
)

// clientOptions are the flags of commands that talk to a server.
type clientOptions struct {
	server  string
	timeout time.Duration
}

// define adds the flags. The server is also found in the environment.
func (o *clientOptions) define(f *pflag.FlagSet) {
	o.server = os.Getenv("REMORA_SERVER")
	if o.server == "" {
		o.server = remora.DefaultAddr()
	}
	f.StringVar(&o.server, "server", o.server, "`URL` of the server, with ?path=herd, sendrecv or another path, or REMORA_SERVER")
	f.DurationVar(&o.timeout, "timeout", 5*time.Second, "how long to try")
}

// with connects and calls f.
func (o *clientOptions) with(cmd *cobra.Command, f func(ctx context.Context, c *remora.Client) error) error {
	if o.timeout <= 0 {
		return misuse("a timeout of %v is not positive", o.timeout)
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), o.timeout)
	defer cancel()
	c, err := remora.Dial(ctx, o.server, remora.WithLinks(0)) // one operation, mostly
	if err != nil {
		if errors.Is(err, remora.ErrUnavailable) {
			return fmt.Errorf("%w\nIs a server running there? Start one with: remora serve --listen %s", err, o.server)
		}
		return err
	}
	defer func() { _ = c.Close() }()
	return f(ctx, c)
}

// Exit codes of commands that talk to a server, so that scripts can tell what
// happened.
const (
	exitNotFound    = 3
	exitCondition   = 4
	exitUnavailable = 5
)

const clientExitCodes = `
Exit codes: 0 done, 1 failure, 2 wrong usage, 3 there is no such item, 4 the
condition was not met (--add, --cas), 5 the server cannot be reached.`

// exitCode returns the exit code of an error that is not one of usage.
func exitCode(err error) int {
	switch {
	case errors.Is(err, remora.ErrNotFound), errors.Is(err, keli.ErrNotFound):
		return exitNotFound
	case errors.Is(err, remora.ErrExists), errors.Is(err, remora.ErrChanged):
		return exitCondition
	case errors.Is(err, remora.ErrUnavailable), errors.Is(err, remora.ErrUnknown), errors.Is(err, keli.ErrUnavailable):
		return exitUnavailable
	}
	return exitFailure
}

// keysOnly refuses a command line without keys.
func keysOnly(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return misuse("%s needs a key", cmd.CommandPath())
	}
	return nil
}
