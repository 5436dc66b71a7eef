package out

import (
	"slices"
	"strings"
	"testing"
)

type verbs struct {
	Write float64 `json:"write"`
	Read  float64 `json:"read"`
}

type times struct {
	P50 float64 `json:"p50_us"`
}

type line struct {
	Every float64  `json:"every_ms"`
	Ops   []uint64 `json:"ops"`
}

type flatRow struct {
	Path  string `json:"path"`
	Ops   uint64 `json:"ops"`
	Verbs verbs  `json:"verbs_per_op"`
	times
	Times
	CPU      *float64          `json:"cpu"`
	Hidden   int               `json:"-"`
	Timeline *line             `json:"timeline,omitempty"`
	Kinds    map[string]uint64 `json:"kinds,omitempty"`
	Fill     bool              `json:"fill"`
	Plain    int
	private  int
}

// Times is embedded as times is, and JSON has the fields of both.
type Times struct {
	P99 float64 `json:"p99_us"`
}

func TestColumnsFollowTheFields(t *testing.T) {
	want := []string{
		"path", "ops", "verbs_per_op_write", "verbs_per_op_read", "p50_us", "p99_us", "cpu", "timeline_every_ms", "timeline_ops", "kinds", "fill", "Plain",
	}
	if got := Columns[flatRow](); !slices.Equal(got, want) {
		t.Errorf("columns %q\nwant    %q", got, want)
	}
}

func TestWriter(t *testing.T) {
	var b strings.Builder
	w := NewCSV[flatRow](&b)
	cpu := 12.5
	empty := flatRow{Path: "a,b", times: times{1}, private: 1, Hidden: 1}
	full := flatRow{
		Path: "rfp", Ops: 1 << 60, Verbs: verbs{1, 1.05}, Times: Times{2.5}, CPU: &cpu, Fill: true,
		Timeline: &line{10, []uint64{1, 2}}, Kinds: map[string]uint64{"b": 2, "a": 1},
	}
	for _, r := range []flatRow{empty, full} {
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	want := `path,ops,verbs_per_op_write,verbs_per_op_read,p50_us,p99_us,cpu,timeline_every_ms,timeline_ops,kinds,fill,Plain
"a,b",0,0,0,1,0,,,,,false,0
rfp,1152921504606846976,1,1.05,0,2.5,12.5,10,"[1,2]","{""a"":1,""b"":2}",true,0
`
	if b.String() != want {
		t.Errorf("\n%s\nwant\n%s", b.String(), want)
	}
}
