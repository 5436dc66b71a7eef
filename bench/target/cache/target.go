package cache

import (
	"context"

	"github.com/remora-kv/remora/bench"

	"github.com/remora-kv/remora/bench/load"
)

// measured is a server that a trial measures, with the way to it.
type measured interface {
	// open starts the server, where one is to be started, and connects to it.
	open(ctx context.Context) error
	// loader returns a worker that stores all keys, and closes what it needed for
	// that; no worker where nothing needs to be stored.
	loader(ctx context.Context) (w load.Worker, done func() error, err error)
	// workers makes those that do the operations of the case.
	workers(ctx context.Context) ([]load.Worker, error)
	// address is where the server is, for other client processes, whose Config.Server it
	// becomes.
	address() string
	// connected says that all other client processes are.
	connected() error
	// posted counts the verbs of this side.
	posted() load.Verbs
	// look reads what the server and the fabric have counted until now.
	look(ctx context.Context) (bench.Counters, error)
	// describe fills in what is known about the server.
	describe(row *Row)
	// pid is the process of the server; 0: it is this one, or was not started here.
	pid() int
	// blame adds what a dead server said to the error that its death caused here.
	blame(err error) error
	close() error
}

// loadWindow and loadBatch are those of the loader: many small ones are on their
// way, or a few large ones.
func loadWindow(c *Case) (window, batch int) {
	const large = 2 << 10
	if c.longestValue() > large {
		return 4, 1
	}
	return 8, 16
}
