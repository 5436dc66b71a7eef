package keli

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/kvl"
	"github.com/remora-kv/remora/rpc/visit"
)

// place is a device of a server, with what its visitors can read (E8).
type place struct {
	device   fabric.Device
	domain   fabric.Domain
	memory   *kvl.Memory // areas are regions of the domain
	board    *fabric.Region
	instance uint64
	hall     *visit.Hall
}

func newPlace(dev fabric.Device, instance uint64, maxClients int, log *slog.Logger) (p *place, err error) {
	p = &place{device: dev, instance: instance}
	if p.domain, err = dev.NewDomain(); err != nil {
		return nil, err
	}
	if p.board, err = p.domain.Alloc("keli board", boardSize, fabric.RemoteRead); err != nil {
		return nil, errors.Join(err, p.domain.Close())
	}
	(&board{instance: instance}).publish(p.board.Bytes())
	p.memory = kvl.NewMemory(p.allocate)
	p.hall = visit.NewHall(visit.HallConfig{
		Path: "keli", Device: dev, Domain: p.domain, MaxClients: maxClients,
		Hello: checkHello, Welcome: p.greeting, Log: log,
	})
	return p, nil
}

// greeting is what a visitor is told.
func (p *place) greeting() ([]byte, error) {
	w := welcome{p.board.Remote(), p.instance}
	return w.bytes(), nil
}

// allocate allocates an area that clients can READ.
func (p *place) allocate(purpose string, size int) ([]byte, any, func() error, error) {
	r, err := p.domain.Alloc(purpose, size, fabric.RemoteRead)
	if err != nil {
		return nil, nil, nil, err
	}
	return r.Bytes(), r, r.Close, nil
}

// close ends the place, after all its memory was given back.
func (p *place) close() error {
	p.hall.Close()
	return errors.Join(p.board.Close(), p.domain.Close())
}

// stand is a generation at a place: what its visitors read.
type stand struct {
	copies    []kvl.Area // of the areas, where the image is not of this place
	directory *fabric.Region
	length    int // of the directory
}

// setUp puts an image at a place, for nobody to see yet (E1).
func (p *place) setUp(img *kvl.Image) (st *stand, err error) {
	st = new(stand)
	defer func() {
		if err != nil {
			_ = st.close()
		}
	}()
	d := directory{generation: img.Generation(), schema: img.Schema().Bytes()}
	if n := len(img.Areas()); n > maxAreas {
		return nil, fmt.Errorf("keli: an image of %d areas, at most %d can be served: %w", n, maxAreas, ErrInvalid)
	}
	for i, a := range img.Areas() {
		r, err := p.regionOf(st, a)
		if err != nil {
			return st, fmt.Errorf("keli: area %d: %w", i, err)
		}
		d.areas = append(d.areas, area{r.Remote(), int64(len(a.Bytes()))})
	}
	text := d.bytes()
	if st.directory, err = p.domain.Alloc("keli directory", len(text), fabric.RemoteRead); err != nil {
		return st, err
	}
	st.length = copy(st.directory.Bytes(), text)
	return st, nil
}

// regionOf returns the region of an area at this place, which may be a copy.
func (p *place) regionOf(st *stand, a kvl.Area) (*fabric.Region, error) {
	if r := p.ours(a); r != nil {
		return r, nil
	}
	c, err := p.memory.NewArea(len(a.Bytes()))
	if err != nil {
		return nil, err
	}
	st.copies = append(st.copies, c)
	copy(c.Bytes(), a.Bytes())
	return p.ours(c), nil
}

// ours returns the region of an area if it is of this place.
func (p *place) ours(a kvl.Area) *fabric.Region {
	if r, ok := a.Owner().(*fabric.Region); ok && r.Domain() == p.domain {
		return r
	}
	return nil
}

func (st *stand) close() error {
	var err error
	for _, b := range st.copies {
		err = errors.Join(err, b.Free())
	}
	if st.directory != nil {
		err = errors.Join(err, st.directory.Close())
	}
	return err
}
