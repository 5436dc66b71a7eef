package cache

import (
	"io"

	"github.com/remora-kv/remora/bench/out"
)

// CSV writes rows for spreadsheets: a column for each field, in the order of Row, with the
// names that JSON has (verbs_per_op_read for what is in another).
type CSV = out.CSV[Row]

// NewCSV makes one that writes to w. first are columns before those of a row, whose cells
// are given to Write.
func NewCSV(w io.Writer, first ...string) *CSV { return out.NewCSV[Row](w, first...) }
