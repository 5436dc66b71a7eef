package kvl

import (
	"context"
	"encoding/binary"

	"github.com/remora-kv/remora/internal/arena"
)

// sealer is the state of Seal.
type sealer struct {
	*Builder
	orderBlock *arena.Block
	order      []byte // links of Edge, sorted by orderEdges
	reserved   uint32 // number of them that have a position
	orderAt    uint64 // offset of those of the next item

	places placer
	item   gathered
	listed []uint32
	image  *Image

	ahead   []stagedItem
	numbers []uint32
	touched byte
}

// Seal makes the image: it assigns places to items, resolves links (K3), writes checksums and builds
// the index. It closes the Builder, even if it fails; Stats then lists the dangling links. Seal fails
// if ctx ends.
func (b *Builder) Seal(ctx context.Context) (*Image, error) {
	b.mustBeOpen()
	if b.draft.begun {
		panic("kvl: Seal before the End of an item")
	}
	defer b.Close()
	if b.err != nil {
		return nil, b.err
	}
	if err := b.keys.answer(); err != nil {
		return nil, b.fail(err)
	}
	b.keys.freeTable()
	s := &sealer{Builder: b, places: newPlacer(b.cfg.AreaSize)}
	defer s.freeOrder()
	if err := s.seal(ctx); err != nil {
		if s.image != nil {
			_ = s.image.Close()
		}
		return nil, b.fail(err)
	}
	return s.image, nil
}

func (s *sealer) seal(ctx context.Context) error {
	s.stats.Links = 0
	if err := s.orderEdges(ctx); err != nil {
		return err
	}
	if err := s.planAll(ctx); err != nil {
		return err
	}
	if err := s.checkDangling(); err != nil {
		return err
	}
	if err := s.makeImage(); err != nil {
		return err
	}
	s.orderAt, s.places = 0, newPlacer(s.cfg.AreaSize)
	if err := s.writeAll(ctx); err != nil {
		return err
	}
	s.image.index.flush()
	s.image.stats = s.Stats()
	return nil
}

// planAll plans all items in the order in which they were added.
func (s *sealer) planAll(ctx context.Context) error {
	return s.staged.scan(func(b []byte) error { return s.eachOf(ctx, b, s.keys.awaited > 0, s.plan) })
}

// writeAll writes all items in the same order, and frees the staged ones.
func (s *sealer) writeAll(ctx context.Context) error {
	return s.staged.drain(func(b []byte) error { return s.eachOf(ctx, b, true, s.write) })
}

// plan assigns places to an item and its chunks, which follow it.
func (s *sealer) plan(it stagedItem) error {
	g, err := s.gather(it)
	if err != nil {
		return err
	}
	if s.keys.awaited > 0 {
		s.tellDangling(g, it)
	}
	area, off := s.places.place(g.size)
	l := NewLink(area, int64(off), g.size, s.cfg.Generation)
	binary.LittleEndian.PutUint64(g.note[noteWhere:], l.where)
	binary.LittleEndian.PutUint32(g.note[noteLength:], l.length)
	s.stats.Bytes += int64(g.size)
	for i := range g.parts {
		p := &g.parts[i]
		if p.kind != KindList {
			continue
		}
		s.stats.Lists++
		s.stats.Links += int64(p.links)
		for left := p.links - s.cfg.Inline; left > 0; left -= ChunkLinks {
			size := chunkSize(left)
			s.places.place(size)
			s.stats.Chunks++
			s.stats.Bytes += int64(size)
		}
	}
	return nil
}

// chunkSize returns the length of a chunk when left links remain.
func chunkSize(left int) int { return chunkHead + LinkSize*min(left, ChunkLinks) }

// tellDangling reports the dangling links of an item.
func (s *sealer) tellDangling(g *gathered, it stagedItem) {
	at := it.payloads()
	for i := range it.len() {
		e := it.entry(i)
		if e.kind() != KindBytes {
			s.tellDanglingOf(g, e.name(), it[at:at+int(e.length())], numberSize)
		}
		at += pad8(int(e.length()))
	}
	for i := range g.parts {
		if name := g.parts[i].name; len(g.parts[i].ordered) > 0 && !s.edges[name].back {
			s.tellDanglingOf(g, name, g.parts[i].ordered, edgeSize)
		}
	}
}

func (s *sealer) tellDanglingOf(g *gathered, name uint16, numbers []byte, step int) {
	for ; len(numbers) > 0; numbers = numbers[step:] {
		if s.dangles(numbers) {
			s.dangle(Dangled{
				FromType: s.schema.Name(g.typ), FromKey: string(noteKeyOf(g.note)), Attr: s.schema.Name(name),
				To: string(s.keys.key(binary.LittleEndian.Uint32(numbers))),
			})
		}
	}
}

// makeImage allocates the memory of the image.
func (s *sealer) makeImage() error {
	if err := s.places.check(); err != nil {
		return err
	}
	s.image = &Image{generation: s.cfg.Generation, schema: s.schema.clone()}
	s.stats.Areas = len(s.places.sizes)
	for _, size := range s.places.sizes {
		area, err := s.cfg.Memory.NewArea(size)
		if err != nil {
			return err
		}
		area.block.HugePages()
		s.image.areas = append(s.image.areas, area)
		s.image.bytes = append(s.image.bytes, area.Bytes())
	}
	var err error
	s.image.index, err = newIndex(s.cfg.Memory.arena, s.keys.hasher, s.stats.Items, s.cfg.AreaSize)
	return err
}
