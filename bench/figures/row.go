package figures

import (
	"encoding/json"
	"io"

	"github.com/remora-kv/remora/bench/perf"
)

// Row is one trial of a point, or why there is none. Its JSON form is one line of
// `remora bench figure herd-verbs --json`: that of perf, and where it belongs.
type Row struct {
	Figure int    `json:"figure"`
	Series string `json:"series"`
	X      string `json:"x"`
	*perf.Row
	NotMeasured string `json:"not_measured,omitempty"`
}

// WriteJSON writes the row as one line.
func (r Row) WriteJSON(w io.Writer) error { return json.NewEncoder(w).Encode(r) }
