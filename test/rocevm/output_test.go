package rocevm

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

const perftestText = ` #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec] 
 2       1000          355.83         36691.35      627.70   	       1159.28     	DEVIATION		8846.05 		36691.35
---------------------------------------------------------------------------------------
`

func TestParsePerftest(t *testing.T) {
	for _, deviation := range []string{"1742.84", "-nan"} {
		l, err := parsePerftest(strings.Replace(perftestText, "DEVIATION", deviation, 1))
		if err != nil {
			t.Fatal(err)
		}
		want := Latency{
			Bytes: 2, Iterations: 1000, Min: 355830, Max: 36691350, Typical: 627700,
			Average: 1159280, P99: 8846050, P999: 36691350,
		}
		if l != want {
			t.Errorf("got %+v, want %+v", l, want)
		}
	}
	if _, err := parsePerftest("Couldn't connect to server\n"); err == nil || !strings.Contains(err.Error(), "Couldn't connect") {
		t.Errorf("without results: %v", err)
	}
}

func TestParseDropped(t *testing.T) {
	text := "qdisc netem 8001: root refcnt 2 limit 10000 loss 1%\n Sent 59112 bytes 801 pkt (dropped 12, overlimits 0 requeues 0)\n"
	if n, err := parseDropped(text); err != nil || n != 12 {
		t.Errorf("got %d, %v", n, err)
	}
	if _, err := parseDropped("qdisc pfifo_fast 0: root\n Sent 1 bytes 1 pkt (dropped 3, overlimits 0)\n"); err == nil {
		t.Error("drops of another queue were counted")
	}
}

func TestParseTraffic(t *testing.T) {
	done, err := parseTraffic(Result{Output: "reading\ndone 400 reads"}, time.Second)
	if err != nil || done.Failed != 0 || done.wantDone() != nil || done.wantFailed() == nil {
		t.Errorf("done: %+v, %v", done, err)
	}
	text := "reading\nfailed 12 (transport retry counter exceeded) after 57 reads, 3 flushed"
	failed, err := parseTraffic(Result{Status: trafficFailure, Output: text}, time.Second)
	if err != nil || failed.Failed != 12 || failed.wantDone() == nil || failed.wantFailed() != nil {
		t.Errorf("failed: %+v, %v", failed, err)
	}
	for _, r := range []Result{{Output: "reading"}, {Status: 1, Output: "traffic: wrong byte at 3"}, {Status: 1, Output: text}, {Status: 139, Output: "done 3 reads"}} {
		if _, err := parseTraffic(r, 0); err == nil {
			t.Errorf("%+v was taken for a result", r)
		}
	}
}

func TestParseProbe(t *testing.T) {
	r, err := parseProbe("port\tgid 1\tis\t::ffff:10.77.0.1 RoCEv2\nRC\tREAD\tok\t\nUC\tWRITE\tno\tcompletion says: x\nend\nlate words\n")
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Capabilities) != 3 || len(r.Missing()) != 1 || r.Missing()[0].Name != "WRITE" {
		t.Errorf("got %+v", r)
	}
	if text := r.Missing()[0].String(); !strings.Contains(text, "no: completion says: x") {
		t.Errorf("for people: %q", text)
	}
	for name, text := range map[string]string{
		"no end":          "RC\tREAD\tok\t\n",
		"nothing":         "",
		"a broken line":   "RC READ ok\nend\n",
		"another verdict": "RC\tREAD\tmaybe\t\nend\n",
	} {
		if _, err := parseProbe(text); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

func TestScenarioNames(t *testing.T) {
	if _, err := FindScenario("kill", 1, AccelAuto); err == nil || !strings.Contains(err.Error(), "-guests 2") {
		t.Errorf("kill with one guest: %v", err)
	}
	if _, err := FindScenario("nothing", 2, AccelAuto); err == nil || !strings.Contains(err.Error(), "perftest") {
		t.Errorf("an unknown scenario: %v", err)
	}
	if _, err := FindScenario("remora-instructions", 1, AccelAuto); err == nil || !strings.Contains(err.Error(), "-accel icount") {
		t.Errorf("instructions by time: %v", err)
	}
	if _, err := FindScenario("remora-latency", 1, AccelCount); err == nil || !strings.Contains(err.Error(), "icount") {
		t.Errorf("times by instructions: %v", err)
	}
	for _, accel := range []Accel{AccelAuto, AccelCount} {
		for _, guests := range []int{1, 2} {
			for _, name := range ScenarioNames(guests, accel) {
				if _, err := FindScenario(name, guests, accel); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
	}
}

func TestPrefixWriter(t *testing.T) {
	var out bytes.Buffer
	p := NewPrefixWriter(&out, "client")
	for _, text := range []string{"one\ntw", "o\n", "\n", "end"} {
		if n, err := p.Write([]byte(text)); err != nil || n != len(text) {
			t.Fatalf("%q: %d, %v", text, n, err)
		}
	}
	p.Flush()
	p.Flush()
	if want := "client| one\nclient| two\nclient| \nclient| end\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}
