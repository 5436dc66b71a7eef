package rocevm

import (
	"math"
	"strings"
	"testing"
)

// suiteRows are the rows that a transport must have.
func suiteRows(tests []string) []VerbsRow {
	var rows []VerbsRow
	for _, test := range tests {
		rows = append(rows, VerbsRow{Test: test, Window: 1, Ops: 300, P50: 50, Samples: 300})
	}
	return rows
}

func TestCheckSuite(t *testing.T) {
	tests := verbsSuite[0].tests
	if err := checkSuite(suiteRows(tests), "rc", tests); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func([]VerbsRow) []VerbsRow{
		"no row of read":    func(r []VerbsRow) []VerbsRow { return r[1:] },
		"measured nothing":  func(r []VerbsRow) []VerbsRow { r[2].Ops = 0; return r },
		"lost 3 messages":   func(r []VerbsRow) []VerbsRow { r[2].Lost = 3; return r },
		"no row of echo-ww": func(r []VerbsRow) []VerbsRow { return r[:4] },
	} {
		err := checkSuite(change(suiteRows(tests)), "rc", tests)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	lossy := suiteRows(tests)
	lossy[0].Lost = 3
	if err := checkSuite(lossy, "ud", tests); err != nil {
		t.Errorf("UD may lose: %v", err)
	}
}

func TestVerbsRows(t *testing.T) {
	rows, err := verbsRows(Result{Output: "remora: warning: x\n{\"test\":\"read\",\"ops\":3}\n{\"test\":\"write\",\"ops\":4}"}, nil)
	if err != nil || len(rows) != 2 || rows[1].Test != "write" || rows[1].Ops != 4 {
		t.Errorf("got %+v, %v", rows, err)
	}
	if _, err := verbsRows(Result{Status: 1, Output: "remora: no device"}, nil); err == nil || !strings.Contains(err.Error(), "no device") {
		t.Errorf("a failure: %v", err)
	}
	if _, err := verbsRows(Result{Output: "{half"}, nil); err == nil {
		t.Error("half a row was accepted")
	}
}

func TestParseMessageRate(t *testing.T) {
	text := " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n 64         1000             2.61               2.45   \t\t   0.040105\n"
	us, err := parseMessageRate(text)
	if err != nil || math.Abs(us-24.93) > 0.01 {
		t.Errorf("got %v, %v", us, err)
	}
	for _, bad := range []string{"", strings.Replace(text, "0.040105", "0.000000", 1)} {
		if _, err := parseMessageRate(bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func TestContestTable(t *testing.T) {
	samples := []Sample{{
		Contest: Contest{Name: "READ", Peer: []string{"ib_read_lat"}, Target: 1.25, Note: "a note"},
		OursUS:  []float64{50, 44, 60}, FreeUS: []float64{40, 42, 41}, PinnedUS: []float64{43, 50, 39},
	}, {
		Contest: Contest{Name: "SEND", Peer: []string{"ib_send_lat"}},
		OursUS:  []float64{50, 60}, FreeUS: []float64{10, 20}, PinnedUS: []float64{30, 30},
	}}
	text := ContestTable(samples)
	for _, want := range []string{
		"| READ (`ib_read_lat`) | 50.0 | 44.0 to 60.0 | 41.0 | 40.0 to 42.0 | 43.0 | 39.0 to 50.0 | 1.25 | <= 1.25 | met |",
		"| 55.0 | 50.0 to 60.0 | 15.0 | 10.0 to 20.0 | 30.0 | 30.0 to 30.0 | 4.00 |  |  |", "- READ: a note.",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if err := checkTargets(samples); err != nil {
		t.Errorf("targets that were met: %v", err)
	}
	samples[0].OursUS = []float64{60, 60, 60}
	if text := ContestTable(samples); !strings.Contains(text, "MISSED") {
		t.Errorf("a missed target is not called one:\n%s", text)
	}
	if err := checkTargets(samples); err == nil || !strings.Contains(err.Error(), "READ: 1.46 times ib_read_lat") {
		t.Errorf("a missed target: %v", err)
	}
}

// A host that is twice as slow half of the time does not show in a ratio of
// programs that run one after the other, wherever the medians come to lie.
func TestRatioOfPairs(t *testing.T) {
	s := Sample{OursUS: []float64{110, 55, 110}, FreeUS: []float64{100, 50, 50}, PinnedUS: []float64{100, 50, 100}}
	if r := s.Ratio(); math.Abs(r-1.1) > 0.001 {
		t.Errorf("got %v, want 1.1", r)
	}
	s.PinnedUS = []float64{80, 40, 80}
	if r := s.Ratio(); math.Abs(r-1.375) > 0.001 {
		t.Errorf("got %v, want the ratio to the faster way, 1.375", r)
	}
}

func TestCountTable(t *testing.T) {
	text := CountTable([]Sample{{
		Contest: Contest{Name: "READ", Peer: []string{"ib_read_lat"}, Target: 1.25},
		OursUS:  []float64{19.263}, FreeUS: []float64{18.18},
	}})
	if !strings.Contains(text, "| READ (`ib_read_lat`) | 19263 | 18180 | 1.06 | <= 1.25 | met |") {
		t.Errorf("got\n%s", text)
	}
}

func TestCostTable(t *testing.T) {
	const text = `goos: linux
BenchmarkCall-2   	 7997366	        45.46 ns/op
BenchmarkPost/chain=16-2        	 1000000	       343.3 ns/op	        21.46 ns/request	       0 B/op	       0 allocs/op
BenchmarkCall-2   	 7997366	        47.46 ns/op
--- SKIP: BenchmarkAdapter
PASS
`
	costs := ParseBenchmarks(text)
	if len(costs) != 2 || len(costs["Call"]) != 2 || costs["Post/chain=16"][0] != 21.46 {
		t.Errorf("got %v", costs)
	}
	table := CostTable([]string{"Call", "Other"}, []string{"here", "there"}, []Costs{costs, {"Other": {7}}})
	if !strings.Contains(table, "| Call | 46 | |") || !strings.Contains(table, "| Other | | 7 |") {
		t.Errorf("got\n%s", table)
	}
}
