package cuckoo

import "github.com/remora-kv/remora/store/storetest"

// reader is a client that reads a table only by its export.
type reader struct {
	*Finder
	*storetest.Reader
}

func (r *rig) reader() *reader {
	r.Helper()
	export := r.Export()
	f, err := NewFinder(export.Layout)
	if err != nil {
		r.Fatal(err)
	}
	return &reader{f, storetest.NewReader(r, f, export)}
}
