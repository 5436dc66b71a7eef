package load

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/remora-kv/remora/internal/backoff"
)

// WatchConfig configures Watch.
type WatchConfig struct {
	// Source is the URL of a PostgreSQL database, and Channel the channel of its notifications.
	Source, Channel string
	// Changed is called after a notification, and after every reconnect, because notifications
	// may have been lost before it. Notifications that arrive while it runs cause one more call.
	Changed func()
	// Lost, if not nil, is called with the error of a connection that was lost or failed.
	Lost func(error)
	// Ready, if not nil, is called when the first connection listens: no notification from then on
	// is missed.
	Ready func()
}

// The first and the longest pause before a reconnect.
const (
	firstPause = 100 * time.Millisecond
	lastPause  = 10 * time.Second
)

// Watch listens for notifications until ctx ends, and returns its error. It reconnects after
// failures. It returns another error only if the configuration is invalid.
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

// watcher is the state of Watch.
type watcher struct {
	WatchConfig
	config *pgx.ConnConfig
	news   chan struct{} // not empty: Changed has to be called
	done   chan struct{} // closed when call has returned
	again  bool          // there was a connection before
}

// call calls Changed, in a goroutine of its own: a reload may take long, and the connection has to
// receive notifications meanwhile.
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
	default: // the pending call will see this change, too
	}
}

// listen connects and listens until that fails. listened reports whether LISTEN succeeded.
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
