package kvl

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/remora-kv/remora/kvl"
	"github.com/remora-kv/remora/kvl/app"
	"github.com/remora-kv/remora/kvl/keli"
)

// operate does the operations of a trial, and returns how long each has taken.
func (u *run) operate(ctx context.Context, row *Row) ([]time.Duration, error) {
	switch u.c.App {
	case AppSearch:
		return u.search(ctx, row)
	case AppPage:
		return u.each(ctx, u.page)
	case AppMatch:
		return u.each(ctx, u.match)
	default:
		return u.readItems(ctx)
	}
}

// each does one operation after the other.
func (u *run) each(ctx context.Context, f func(ctx context.Context, i int) error) ([]time.Duration, error) {
	took := make([]time.Duration, u.c.Ops)
	last := time.Now()
	for i := range took {
		if err := f(ctx, i); err != nil {
			return nil, fmt.Errorf("operation %d: %w", i, err)
		}
		now := time.Now()
		took[i], last = now.Sub(last), now
	}
	return took, nil
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

// search visits users from the first one on.
func (u *run) search(ctx context.Context, row *Row) (took []time.Duration, err error) {
	var r app.Reach
	began := time.Now()
	switch {
	case u.c.Path == PathLinksTwo:
		r, err = u.c.Graph.SearchParallel(ctx, u.client, 0, u.c.Users, workers)
	case u.c.by(PathLinks):
		r, err = u.c.Graph.SearchByLinks(ctx, u.session, 0, u.c.Users)
	default:
		r, err = u.c.Graph.SearchByKeys(ctx, u.store, 0, u.c.Users)
	}
	u.users, row.Edges = r.Users, r.Edges
	u.add(binary.LittleEndian.AppendUint64(nil, uint64(r.Users)))
	u.add(binary.LittleEndian.AppendUint64(nil, uint64(r.Edges)))
	return []time.Duration{time.Since(began)}, err
}

// prepare chooses the crossings that readItems reads, by chance, and looks for the links to
// them: what the server does for that is not of the trial.
func (u *run) prepare(ctx context.Context) error {
	if u.c.App != AppItem || u.keys != nil {
		return nil
	}
	n := u.c.City.Side * u.c.City.Side
	rng := rand.New(rand.NewPCG(u.cfg.Seed, 0))
	for range u.c.Ops {
		u.keys = append(u.keys, app.NodeKey(nil, rng.IntN(n)))
	}
	if u.c.Path != PathLinks {
		return nil
	}
	for _, key := range u.keys {
		_, l, err := u.session.Find(ctx, key)
		if err != nil {
			return err
		}
		u.links = append(u.links, l)
	}
	return nil
}

// readItems reads crossings of the map, one at a time.
func (u *run) readItems(ctx context.Context) ([]time.Duration, error) {
	switch u.c.Path {
	case PathLinks:
		return u.each(ctx, func(ctx context.Context, i int) error {
			item, err := u.session.Follow(ctx, u.links[i])
			return u.addPlace(item, err)
		})
	case PathLookup:
		return u.each(ctx, func(ctx context.Context, i int) error {
			item, err := u.session.Lookup(ctx, u.keys[i])
			return u.addPlace(item, err)
		})
	default:
		var one app.Keys
		return u.each(ctx, func(ctx context.Context, i int) error {
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
