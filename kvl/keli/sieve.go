package keli

import "github.com/remora-kv/remora/kvl"

// sieve is links of a walk that came and of which nobody knows yet whether they are new. So
// many are looked at together that waiting for one of their bits is waiting for all.
type sieve struct {
	links   []kvl.Link
	numbers [sieveLinks]uint64
	sink    uint64 // so that the loads of touch are not left out
}

// sieveLinks is how many links are looked at together.
const sieveLinks = 256

// sift queues what is new among the links of the sieve, and leaves those that are fewer than
// enough for when more have come.
func (w *walk) sift(to *queue, enough int) {
	links := w.sieve.links
	if len(links) == 0 || len(links) < enough {
		return
	}
	for len(links) != 0 && len(links) >= enough {
		part := links[:min(len(links), sieveLinks)]
		links = links[len(part):]
		w.siftPart(to, part)
	}
	w.sieve.links = w.sieve.links[:copy(w.sieve.links, links)]
}

func (w *walk) siftPart(to *queue, links []kvl.Link) {
	sum, ok := w.places.touch(links, &w.sieve.numbers)
	if w.sieve.sink += sum; !ok {
		for _, l := range links {
			w.push(to, l)
		}
		return
	}
	n := w.most(w.places.sift(links, &w.sieve.numbers, to.room(len(links))))
	w.queued += n
	to.filled(n)
}
