package keli

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/kvl"
	"github.com/remora-kv/remora/rpc/onesided"
)

// exporter has the memory that clients of one device can READ (E8).
type exporter struct {
	device     fabric.Device
	domain     fabric.Domain
	memory     *kvl.Memory // areas are regions of the domain
	superblock *fabric.Region
	instance   uint64
	readers    *onesided.Acceptor
}

func newExporter(dev fabric.Device, instance uint64, maxClients int, log *slog.Logger) (p *exporter, err error) {
	p = &exporter{device: dev, instance: instance}
	if p.domain, err = dev.NewDomain(); err != nil {
		return nil, err
	}
	if p.superblock, err = p.domain.Alloc("keli superblock", superblockSize, fabric.RemoteRead); err != nil {
		return nil, errors.Join(err, p.domain.Close())
	}
	(&superblock{instance: instance}).publish(p.superblock.Bytes())
	p.memory = kvl.NewMemory(p.allocate)
	p.readers = onesided.NewAcceptor(onesided.AcceptorConfig{
		Path: "keli", Device: dev, Domain: p.domain, MaxClients: maxClients,
		Hello: checkHello, Welcome: p.welcome, Log: log,
	})
	return p, nil
}

// welcome returns the private data that a reader connection is accepted with.
func (p *exporter) welcome() ([]byte, error) {
	w := welcome{p.superblock.Remote(), p.instance}
	return w.bytes(), nil
}

// allocate allocates an area that clients can READ.
func (p *exporter) allocate(purpose string, size int) ([]byte, any, func() error, error) {
	r, err := p.domain.Alloc(purpose, size, fabric.RemoteRead)
	if err != nil {
		return nil, nil, nil, err
	}
	return r.Bytes(), r, r.Close, nil
}

// close ends the reader connections. All other memory of the exporter was given back before.
func (p *exporter) close() error {
	p.readers.Close()
	return errors.Join(p.superblock.Close(), p.domain.Close())
}

// export is a generation as clients of one device READ it.
type export struct {
	copies    []kvl.Area // of the areas, if the image is in memory of another device
	directory *fabric.Region
	length    int // of the directory
}

// export makes an image readable. No superblock names it yet (E1).
func (p *exporter) export(img *kvl.Image) (st *export, err error) {
	st = new(export)
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

// regionOf returns the region of an area, or of a copy of it, on this device.
func (p *exporter) regionOf(st *export, a kvl.Area) (*fabric.Region, error) {
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

// ours returns the region of an area if it is on this device.
func (p *exporter) ours(a kvl.Area) *fabric.Region {
	if r, ok := a.Owner().(*fabric.Region); ok && r.Domain() == p.domain {
		return r
	}
	return nil
}

func (st *export) close() error {
	var err error
	for _, b := range st.copies {
		err = errors.Join(err, b.Free())
	}
	if st.directory != nil {
		err = errors.Join(err, st.directory.Close())
	}
	return err
}
