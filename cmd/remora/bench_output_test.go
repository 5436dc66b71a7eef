package main

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Rows go to a file beside the table, or to standard output instead of it.
func TestBenchWritesCSV(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rows.csv")
	code, out, _ := runCmd(t, smallBench("--fabric loop --window 1,4 --trials 2 --csv "+file)...)
	if code != exitOK || !strings.Contains(out, "median ops/s (interval)") {
		t.Fatalf("exit code %d, %q", code, out)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
	if err != nil || len(rows) != 5 || rows[0][0] != "path" || rows[1][0] != "rfp" || rows[4][2] != "loop" {
		t.Errorf("%v, %d lines: %q", err, len(rows), rows)
	}
	code, out, errOut := runCmd(t, smallBench("--fabric loop --csv -")...)
	if lines := strings.Split(out, "\n"); code != exitOK || len(lines) != 3 || !strings.HasPrefix(lines[0], "path,engine,") || !strings.Contains(errOut, "warning: fewer") {
		t.Errorf("exit code %d, %q, standard error %q", code, out, errOut)
	}
}

// Remarks and summaries come behind the rows, and only when asked for.
func TestBenchSumsUp(t *testing.T) {
	code, out, _ := runCmd(t, smallBench("--fabric loop --json --trials 2 --summary")...)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if code != exitOK || len(lines) != 4 {
		t.Fatalf("exit code %d, %d lines", code, len(lines))
	}
	var remarks struct {
		Kind            string
		Warnings, Notes []string
	}
	if err := json.Unmarshal([]byte(lines[2]), &remarks); err != nil || remarks.Kind != "remarks" || len(remarks.Warnings) == 0 || len(remarks.Notes) == 0 {
		t.Errorf("%v, %+v", err, remarks)
	}
	var sum struct {
		Kind string
		Rate struct{ N, Mean float64 } `json:"ops_per_sec"`
	}
	if err := json.Unmarshal([]byte(lines[3]), &sum); err != nil || sum.Kind != "summary" || sum.Rate.N != 2 || sum.Rate.Mean <= 0 {
		t.Errorf("%v, %+v", err, sum)
	}
	for args, want := range map[string]string{
		"--summary":                "--json",
		"--json --csv -":           "standard output",
		"--csv /nowhere/there/csv": "--csv",
	} {
		if code, _, errOut := runCmd(t, smallBench("--fabric loop "+args)...); code == exitOK || !strings.Contains(errOut, want) {
			t.Errorf("%s: exit code %d, %q", args, code, errOut)
		}
	}
}
