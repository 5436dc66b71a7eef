package kvl

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	"github.com/remora-kv/remora/bench/load"
	"github.com/remora-kv/remora/internal/cycles"
	"github.com/remora-kv/remora/kvl"
	"github.com/remora-kv/remora/kvl/app"
	"github.com/remora-kv/remora/kvl/keli"
)

// Run implements load.Worker: it does the operations of a trial.
func (u *run) Run(ctx context.Context, m *load.Meter) error {
	u.sum = newSum()
	return load.OnThread(m, func() error {
		switch u.c.App {
		case AppSearch:
			return u.search(ctx, m)
		case AppPage:
			return each(ctx, m, u.page)
		case AppMatch:
			return each(ctx, m, u.match)
		default:
			return u.readItems(ctx, m)
		}
	})
}

// each does one operation after the other.
func each(ctx context.Context, m *load.Meter, f func(ctx context.Context, i int) error) error {
	last := cycles.Now()
	for i := 0; m.Ops < m.Limit; i++ {
		if m.Stopped() {
			return load.ErrStopped
		}
		if err := f(ctx, i); err != nil {
			return fmt.Errorf("operation %d: %w", i, err)
		}
		now := cycles.Now()
		m.Record(now - last)
		m.Ops++
		m.Look(now)
		last = now
	}
	return nil
}

func (u *run) page(ctx context.Context, i int) (err error) {
	product := rand.New(rand.NewPCG(u.cfg.Seed, uint64(i))).IntN(u.c.Shop.Products)
	u.text.Reset()
	if u.c.by(PathLinks) {
		err = u.c.Shop.PageByLinks(ctx, u.session, product, &u.text)
	} else {
		err = u.c.Shop.PageByKeys(ctx, u.store, product, &u.text)
	}
	u.add(u.text.Bytes())
	return err
}

func (u *run) match(ctx context.Context, i int) (err error) {
	var m app.Match
	if p := u.c.City.Signal(i); u.c.by(PathLinks) {
		m, err = u.c.City.MatchByLinks(ctx, u.session, p)
	} else {
		m, err = u.c.City.MatchByKeys(ctx, u.store, p)
	}
	u.add([]byte(m.Street))
	return err
}

// workers are those of a search by links-two.
const workers = 2

// search visits users from the first one on. An operation is one of them, in the mean.
func (u *run) search(ctx context.Context, m *load.Meter) (err error) {
	var r app.Reach
	began := cycles.Now()
	switch {
	case u.c.Path == PathLinksTwo:
		r, err = u.c.Graph.SearchParallel(ctx, u.client, 0, u.c.Users, workers)
	case u.c.by(PathLinks):
		r, err = u.c.Graph.SearchByLinks(ctx, u.session, 0, u.c.Users)
	default:
		r, err = u.c.Graph.SearchByKeys(ctx, u.store, 0, u.c.Users)
	}
	u.edges, m.Ops = r.Edges, uint64(r.Users)
	m.Record((cycles.Now() - began) / max(m.Ops, 1))
	u.add(binary.LittleEndian.AppendUint64(nil, uint64(r.Users)))
	u.add(binary.LittleEndian.AppendUint64(nil, uint64(r.Edges)))
	return err
}

// Workers implements bench.Target. It chooses the crossings that readItems reads, by chance,
// and looks for the links to them: what the server does for that is not of a trial.
func (u *run) Workers(ctx context.Context) ([]load.Worker, error) {
	self := []load.Worker{u}
	if u.c.App != AppItem {
		return self, nil
	}
	n := u.c.City.Side * u.c.City.Side
	rng := rand.New(rand.NewPCG(u.cfg.Seed, 0))
	for range u.c.Ops {
		u.keys = append(u.keys, app.NodeKey(nil, rng.IntN(n)))
	}
	if u.c.Path != PathLinks {
		return self, nil
	}
	for _, key := range u.keys {
		_, l, err := u.session.Find(ctx, key)
		if err != nil {
			return nil, err
		}
		u.links = append(u.links, l)
	}
	return self, nil
}

// readItems reads crossings of the map, one at a time.
func (u *run) readItems(ctx context.Context, m *load.Meter) error {
	switch u.c.Path {
	case PathLinks:
		return each(ctx, m, func(ctx context.Context, i int) error {
			item, err := u.session.Follow(ctx, u.links[i])
			return u.addPlace(item, err)
		})
	case PathLookup:
		return each(ctx, m, func(ctx context.Context, i int) error {
			item, err := u.session.Lookup(ctx, u.keys[i])
			return u.addPlace(item, err)
		})
	default:
		var one app.Keys
		return each(ctx, m, func(ctx context.Context, i int) error {
			one.Reset()
			one.Add(u.keys[i])
			return u.store.Get(ctx, &one, func(_ int, value []byte) error {
				u.add(app.PlaceOf(value))
				return nil
			})
		})
	}
}

func (u *run) addPlace(item kvl.Item, err error) error {
	if err == nil {
		place, _ := item.Bytes(u.placeName)
		u.add(place)
	}
	return err
}

// dialKeli connects with a server of links.
func (u *run) dialKeli(ctx context.Context, url string) (err error) {
	if u.client, err = keli.Dial(ctx, url, keli.WithDevice(u.dev), keli.WithWindow(u.c.Window)); err != nil {
		return err
	}
	if u.session, err = u.client.Session(); err != nil {
		return err
	}
	if err := u.session.Refresh(ctx); err != nil {
		return err
	}
	u.placeName, _ = u.session.Schema().Number(app.PlaceName)
	if u.c.Path == PathLinksTwo { // so that both workers are connected
		_, err = u.c.Graph.SearchParallel(ctx, u.client, 0, 1, workers)
	}
	return err
}
