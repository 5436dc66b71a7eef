package faults_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/faults"
)

func TestParsePlan(t *testing.T) {
	for _, c := range []struct {
		text, canonical string
		want            faults.Plan
	}{
		{"", "seed=0", faults.Plan{}},
		{" ; seed=18446744073709551614; ", "seed=18446744073709551614", faults.Plan{Seed: 1<<64 - 2}},
		{"ud.drop=1%", "seed=0; ud.drop=1%", faults.Plan{Rules: []faults.Rule{
			{Fault: faults.Drop, Transports: []fabric.Transport{fabric.UD}, Rate: 10_000},
		}}},
		{"drop=0.0001%;drop=100%;drop=0%;drop", "seed=0; drop=0.0001%; drop=100%; drop=0%; drop", faults.Plan{Rules: []faults.Rule{
			{Fault: faults.Drop, Rate: 1},
			{Fault: faults.Drop, Rate: faults.Always},
			{Fault: faults.Drop, Rate: faults.Never},
			{Fault: faults.Drop},
		}}},
		{"uc.write+write_imm.drop=burst=5,12.50%", "seed=0; uc.write+write_imm.drop=12.5%,burst=5", faults.Plan{Rules: []faults.Rule{{
			Fault: faults.Drop, Transports: []fabric.Transport{fabric.UC},
			Verbs: []fabric.Op{fabric.OpWrite, fabric.OpWriteImm}, Rate: 125_000, Burst: 5,
		}}}},
		{"uc+ud.reorder=1000us,5%,by=3", "seed=0; uc+ud.reorder=5%,1ms,by=3", faults.Plan{Rules: []faults.Rule{{
			Fault: faults.Reorder, Transports: []fabric.Transport{fabric.UC, fabric.UD},
			Rate: 50_000, Time: time.Millisecond, By: 3,
		}}}},
		{"rc.break=rnr@qp=0,op=1000", "seed=0; rc.break=rnr@qp=0,op=1000", faults.Plan{Rules: []faults.Rule{{
			Fault: faults.Break, Transports: []fabric.Transport{fabric.RC}, Status: fabric.StatusRNRExceeded,
			QPs: faults.At(0), Ops: faults.At(1000),
		}}}},
		{"cut@op=500..800; slow=20us", "seed=0; cut@op=500..800; slow=20µs", faults.Plan{Rules: []faults.Rule{
			{Fault: faults.Cut, Ops: faults.Span{From: 500, To: 800}}, {Fault: faults.Slow, Time: 20 * time.Microsecond},
		}}},
		{"dial.refuse=10%; accept.refuse@op=3..", "seed=0; dial.refuse=10%; accept.refuse@op=3..", faults.Plan{Rules: []faults.Rule{
			{Fault: faults.RefuseDial, Rate: faults.Percent(10)}, {Fault: faults.RefuseAccept, Ops: faults.Span{From: 3}},
		}}},
	} {
		got, err := faults.ParsePlan(c.text)
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		if !reflect.DeepEqual(*got, c.want) {
			t.Errorf("%q is %+v, want %+v", c.text, *got, c.want)
		}
		if got.String() != c.canonical {
			t.Errorf("%q is printed as %q, want %q", c.text, got, c.canonical)
		}
		again, err := faults.ParsePlan(got.String())
		if err != nil || !reflect.DeepEqual(again, got) {
			t.Errorf("%q does not come back: %+v, %v", got, again, err)
		}
	}
}

// TestParseErrors: an error names the item and says what to do.
func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		"rc.drop=1%":                 "rc is reliable and hides it by retransmission",
		"rc.delay=1ms":               "slow, break, lose and cut",
		"rc+ud.reorder":              "rc is reliable",
		"rc.dup=1%":                  "rc is reliable",
		"uc.dup=1%":                  "uc never duplicates",
		"uc.lose":                    "not acknowledged",
		"rc.slow=1us":                "is of the device",
		"ud.write.drop":              "verb WRITE does not exist on [ud]",
		"ud.drop=1":                  "is no argument; write a rate",
		"ud.drop=101%":               "0% to 100%",
		"ud.drop=-1%":                "0% to 100%",
		"ud.drop=1.00001%":           "four digits",
		"ud.drop=1%,2%":              "second of its kind",
		"ud.drop=1ms":                "takes no duration",
		"ud.delay=5%":                "needs a duration",
		"ud.delay=-1ms":              "is no argument",
		"slow":                       "needs a duration",
		"slow=1ms@op=5":              "takes no op",
		"rc.break=flushed":           "is no argument",
		"cut=5%":                     "takes no rate",
		"ud.drop@op=5..5":            "nothing is in 5..5",
		"ud.drop@time=5":             "is no place",
		"ud.drop@op=x":               `number "x"`,
		"ud.drop=burst=0":            "1 to 1048576",
		"ud.lose.drop":               `verb "lose" is unknown`,
		"xx.drop":                    `transport "xx" is unknown`,
		"ud+ud.drop":                 "named twice",
		"uc.send+send.drop":          "named twice",
		"uc.recv.drop":               "unknown",
		"a.b.c.drop":                 "write transport.verb.fault",
		"refuse":                     `fault "refuse" is unknown`,
		"seed=x":                     `number "x"`,
		"ud.drop=1%; seed=1; uc.dup": `"uc.dup"`,
	} {
		_, err := faults.ParsePlan(text)
		if err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err, fabric.ErrInvalid) {
			t.Errorf("%q: error %v, want one with %q", text, err, want)
		}
	}
}

// TestValidate: plans made by hand are checked too, all faults in one error.
func TestValidate(t *testing.T) {
	p := &faults.Plan{Rules: []faults.Rule{
		{Fault: faults.Drop, Transports: []fabric.Transport{fabric.RC}},
		{Fault: 77},
		{Fault: faults.Break, Status: fabric.StatusFlushed, Rate: 2_000_000, Burst: -1},
		{Fault: faults.Slow, Time: -1, Verbs: []fabric.Op{fabric.OpSend}},
		{Fault: faults.Drop, Ops: faults.Span{From: 5, To: 3}},
	}}
	err := p.Validate()
	for _, want := range []string{"reliable", "77", "flushed", "2000000", "takes no burst", "negative", "single verbs", "5..3"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not mention %s", err, want)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("Wrap accepts it")
		}
	}()
	faults.Wrap(nil, p)
}

func TestPercent(t *testing.T) {
	for p, want := range map[float64]string{0: "0%", 0.00001: "0%", 0.0001: "0.0001%", 1.5: "1.5%", 100: "100%", 10: "10%"} {
		if got := faults.Percent(p).String(); got != want {
			t.Errorf("Percent(%v) is %s, want %s", p, got, want)
		}
	}
	if got := faults.Rate(0).String(); got != "100%" {
		t.Errorf("the zero Rate is %s", got)
	}
}

// FuzzParsePlan: what is accepted is printed and read back the same.
func FuzzParsePlan(f *testing.F) {
	f.Add("seed=42; ud.drop=1%; uc.write.drop=10%,burst=5; ud.dup=2%,1ms; ud.reorder=5%,by=3; ud.delay=3%,1ms")
	f.Add("rc.break=lost@qp=0,op=1000; cut@op=500..800; slow=20us; dial.refuse=10%; rc.lose=0.1%@op=5..")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := faults.ParsePlan(text)
		if err != nil {
			if !errors.Is(err, fabric.ErrInvalid) {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		if err := p.Validate(); err != nil {
			t.Fatalf("%q: accepted, but %v", text, err)
		}
		again, err := faults.ParsePlan(p.String())
		if err != nil || !reflect.DeepEqual(p, again) {
			t.Fatalf("%q is printed as %q, which is read as %+v, %v", text, p, again, err)
		}
	})
}
