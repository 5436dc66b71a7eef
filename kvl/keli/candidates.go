package keli

import "github.com/remora-kv/remora/kvl"

// candidates are links that a walk has found, and that it may have visited before. They are checked
// in batches, so that the cache misses of a batch overlap.
type candidates struct {
	links   []kvl.Link
	numbers [batchLinks]uint64
	sink    uint64 // keeps the compiler from removing the loads of prefetch
}

// batchLinks is the number of links that are checked together.
const batchLinks = 256

// queueNew queues the candidates that are new, in batches. It leaves fewer than enough for later.
func (w *walk) queueNew(to *queue, enough int) {
	links := w.candidates.links
	if len(links) == 0 || len(links) < enough {
		return
	}
	for len(links) != 0 && len(links) >= enough {
		part := links[:min(len(links), batchLinks)]
		links = links[len(part):]
		w.queueBatch(to, part)
	}
	w.candidates.links = w.candidates.links[:copy(w.candidates.links, links)]
}

func (w *walk) queueBatch(to *queue, links []kvl.Link) {
	sum, ok := w.visited.prefetch(links, &w.candidates.numbers)
	if w.candidates.sink += sum; !ok {
		for _, l := range links {
			w.push(to, l)
		}
		return
	}
	n := w.admit(w.visited.claimBatch(links, &w.candidates.numbers, to.room(len(links))))
	w.queued += n
	to.filled(n)
}
