package load

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/remora-kv/remora/internal/backoff"
)

// WatchConfig says what to watch.
type WatchConfig struct {
	// Source is a URL of PostgreSQL, Channel what NOTIFY names there.
	Source, Channel string
	// Changed is called when there was a notification, and after each connection but the
	// first, since what was said while there was none is lost. It is called once for all
	// that was said while it ran.
	Changed func()
	// Lost is told why a connection was lost or could not be made; may be nil.
	Lost func(error)
	// Ready is called when the first connection listens: what is said from then on is
	// heard. May be nil.
	Ready func()
}

// The pause before another connection, at first and at most.
const (
	firstPause = 100 * time.Millisecond
	lastPause  = 10 * time.Second
)

// Watch listens for notifications until ctx is over, and returns why it is. It connects
// again by itself. An error of another kind means that the configuration is wrong.
func Watch(ctx context.Context, cfg WatchConfig) error {
	config, err := postgresConfig(cfg.Source)
	if err != nil {
		return err
	}
	if cfg.Channel == "" || cfg.Changed == nil {
		return errors.New("load: Watch needs Channel and Changed")
	}
	w := &watcher{WatchConfig: cfg, config: config, news: make(chan struct{}, 1), done: make(chan struct{})}
	go w.call(ctx)
	defer func() { <-w.done }()
	pauses := backoff.New(firstPause, lastPause)
	for {
		listened, err := w.listen(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if w.Lost != nil {
			w.Lost(fmt.Errorf("listening to %s of %s: %w", cfg.Channel, withoutPassword(cfg.Source), err))
		}
		if listened {
			pauses.Reset()
		}
		if !pauses.Wait(ctx, nil) {
			return ctx.Err()
		}
	}
}

// watcher is one Watch.
type watcher struct {
	WatchConfig
	config *pgx.ConnConfig
	news   chan struct{} // full: Changed is to be called
	done   chan struct{} // call has returned
	again  bool          // there was a connection before
}

// call calls Changed, beside the connection: a reload may take long, and what is said
// meanwhile is taken off the wire.
func (w *watcher) call(ctx context.Context) {
	defer close(w.done)
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.news:
			w.Changed()
		}
	}
}

func (w *watcher) tell() {
	select {
	case w.news <- struct{}{}:
	default: // it will be called, and sees this too
	}
}

// listen connects and listens until that fails. listened says whether it got so far.
func (w *watcher) listen(ctx context.Context) (listened bool, err error) {
	conn, err := pgx.ConnectConfig(ctx, w.config)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, (&postgresSnapshot{conn}).close()) }()
	if _, err := conn.Exec(ctx, "LISTEN "+quote(w.Channel)); err != nil {
		return false, err
	}
	if w.again {
		w.tell()
	} else if w.Ready != nil {
		w.Ready()
	}
	w.again = true
	for {
		if _, err := conn.WaitForNotification(ctx); err != nil {
			return true, err
		}
		w.tell()
	}
}
