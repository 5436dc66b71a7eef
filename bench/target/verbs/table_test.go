package verbs

import (
	"bytes"
	"testing"

	"github.com/remora-kv/remora/bench"

	"github.com/remora-kv/remora/test/benchtest"
)

func TestTable(t *testing.T) {
	r := Report{bench.Report[Row]{
		Rows: sampleRows(),
		Remarks: bench.Remarks{
			Notes:    []string{"CPUs: client 0, server 1", "clock: fast"},
			Warnings: []string{"ONE CPU ONLY"},
		},
	}}
	var b bytes.Buffer
	if err := r.WriteTable(&b); err != nil {
		t.Fatal(err)
	}
	benchtest.Golden(t, "table.txt", b.Bytes())
}
