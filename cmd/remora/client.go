package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/remora-kv/remora"
	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/kvl/keli"
	"github.com/remora-kv/remora/rpc"
)

// clientOptions are the flags of commands that talk to a server.
type clientOptions struct {
	server  string
	timeout time.Duration
}

// define adds the flags to a command for a cache. The server can also be set in the
// environment.
func (o *clientOptions) define(cmd *cobra.Command) {
	o.defineForItems(cmd)
	cmd.Flags().Lookup("server").Usage += "; ?path=herd chooses a path"
}

// defineForItems adds the flags to a command for a server of items with links, which has
// one path.
func (o *clientOptions) defineForItems(cmd *cobra.Command) {
	o.server = os.Getenv("REMORA_SERVER")
	if o.server == "" {
		o.server = remora.DefaultAddr()
	}
	f := cmd.Flags()
	f.StringVar(&o.server, "server", o.server, "`URL` of the server, also by REMORA_SERVER")
	f.DurationVar(&o.timeout, "timeout", 5*time.Second, "give up after this time")
	section(f, "Connection", "server", "timeout")
	complete(cmd)
	if cmd.ValidArgsFunction == nil {
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
}

// context bounds a command by its timeout.
func (o *clientOptions) context(cmd *cobra.Command) (context.Context, context.CancelFunc, error) {
	if o.timeout <= 0 {
		return nil, nil, misuse("--timeout %v must be above 0", o.timeout)
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), o.timeout)
	return ctx, cancel, nil
}

// with connects to a cache and calls f.
func (o *clientOptions) with(cmd *cobra.Command, f func(ctx context.Context, c *remora.Client) error) error {
	err := o.withCache(cmd, f)
	if err != nil && servesItems(err) {
		return fmt.Errorf("%s serves items with links, not a cache: use remora kvl get, walk or stats", o.server)
	}
	return err
}

func (o *clientOptions) withCache(cmd *cobra.Command, f func(ctx context.Context, c *remora.Client) error) error {
	ctx, cancel, err := o.context(cmd)
	if err != nil {
		return err
	}
	defer cancel()
	c, err := remora.Dial(ctx, o.server, remora.WithLinks(0)) // one operation, mostly
	if err != nil {
		return o.advise(err, remora.ErrUnavailable, "remora serve")
	}
	defer func() { _ = c.Close() }()
	return f(ctx, c)
}

// withItems connects to a server of items with links and calls f.
func (o *clientOptions) withItems(cmd *cobra.Command, f func(ctx context.Context, c *keli.Client) error) error {
	ctx, cancel, err := o.context(cmd)
	if err != nil {
		return err
	}
	defer cancel()
	c, err := keli.Dial(ctx, o.server)
	if rejected := (*fabric.RejectedError)(nil); errors.As(err, &rejected) {
		return fmt.Errorf("%w\nIf %s is a cache, use remora get or stats", err, o.server)
	}
	if err != nil {
		return o.advise(err, keli.ErrUnavailable, "remora kvl serve SOURCE")
	}
	defer func() { _ = c.Close() }()
	return f(ctx, c)
}

// advise says how to start a server where there is none.
func (o *clientOptions) advise(err, unavailable error, command string) error {
	if !errors.Is(err, unavailable) || servesItems(err) || errors.Is(err, context.Canceled) || errors.Is(err, fs.ErrPermission) {
		return err
	}
	if o.server != remora.DefaultAddr() {
		addr := o.server
		if strings.HasPrefix(addr, "shm:") {
			addr, _, _ = strings.Cut(addr, "?") // its options are for clients
		}
		command += " --listen " + addr
	}
	return fmt.Errorf("%w\nIs a server running there? Start one with: %s", err, command)
}

// servesItems reports whether a server refused to be greeted as a cache, as servers of
// items with links do.
func servesItems(err error) bool {
	var refused *rpc.Error
	return errors.As(err, &refused) && refused.Code == rpc.CodeNoProcedure
}

// keyError is an error of one key among several.
type keyError struct {
	key string
	err error
}

func (e keyError) Error() string { return fmt.Sprintf("%q: %s", e.key, withoutName(e.err)) }
func (e keyError) Unwrap() error { return e.err }

// ofKey names the key of a missing item.
func ofKey(key string, err error) error {
	if errors.Is(err, remora.ErrNotFound) || errors.Is(err, keli.ErrNotFound) {
		return keyError{key, err}
	}
	return err
}

// keyErrors are the errors of several keys, on a line each.
type keyErrors []error

func (e keyErrors) Error() string {
	lines := make([]string, len(e))
	for i, err := range e {
		lines[i] = withoutName(err)
	}
	return strings.Join(lines, "\nremora: ")
}

func (e keyErrors) Unwrap() []error { return e }

// eachKey calls f for every key. A missing item does not keep it from the others.
func eachKey(keys []string, f func(key string) error) error {
	var missing keyErrors
	for _, key := range keys {
		err := f(key)
		switch {
		case errors.Is(err, remora.ErrNotFound), errors.Is(err, keli.ErrNotFound):
			missing = append(missing, ofKey(key, err))
		case err != nil:
			return append(missing, err)
		}
	}
	if missing == nil {
		return nil
	}
	return missing
}

// keysOnly refuses a command line without keys.
func keysOnly(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return misuse("%s needs a key", cmd.CommandPath())
	}
	return nil
}
