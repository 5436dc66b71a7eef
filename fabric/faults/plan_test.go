package faults_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/faults"
)

func TestParsePlan(t *testing.T) {
	for _, text := range []string{
		"", " ; seed=18446744073709551614; ", "ud.drop=1%", "uc.drop=0.0001%;uc.drop=100%;uc.drop=0%;uc.drop",
		"uc.write_imm.drop=burst=5,12.50%", "ud.reorder=1000us,5%,by=3", "rc.break=rnr@qp=0,op=1000",
		"dial.refuse=10%; accept.refuse@op=3..", "rc.shuffle=50%,1us; uc.write.shuffle; rc.replay=1%,2us; uc.part=5%", "rc.cmp_swap.lose@op=500..800",
	} {
		if _, err := faults.ParsePlan(text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestParseErrors: an error quotes the item and says what to write instead.
func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		"rc.drop=1%":                 "rc hides loss by retransmission",
		"rc.delay=1ms":               "delay exists on uc ud",
		"uc.dup=1%":                  "uc has one path and never duplicates",
		"uc.lose":                    "only rc is acknowledged",
		"xx.drop":                    "drop exists on uc ud",
		"ud.write.drop":              "ud has no verb write",
		"ud.shuffle":                 "shuffle exists on rc uc",
		"rc.send.shuffle":            "rc has no verb send that shuffle strikes",
		"uc.replay":                  "replay exists on rc",
		"rc.part":                    "part exists on uc",
		"uc.part=1ms":                "part takes no duration",
		"uc.recv.drop":               "uc has no verb recv",
		"ud.drop=1":                  "is not a rate",
		"ud.drop=101%":               "0% to 100%",
		"ud.drop=-1%":                "0% to 100%",
		"ud.drop=NaN%":               "0% to 100%",
		"ud.drop=1ms":                "drop takes no duration",
		"ud.delay=5%":                "delay needs a duration",
		"ud.delay=-1ms":              "is not a rate",
		"rc.break=flushed":           "is not a rate",
		"ud.drop@op=5..5":            "is not op=N",
		"ud.drop@time=5":             "is not op=N",
		"ud.drop@op=x":               "is not op=N",
		"ud.drop=burst=0":            "burst=N",
		"a.b.c.drop":                 "want transport.fault",
		"drop":                       "want transport.fault",
		"refuse":                     "want transport.fault",
		"seed=x":                     "invalid syntax",
		"ud.drop=1%; seed=1; uc.dup": `"uc.dup"`,
	} {
		_, err := faults.ParsePlan(text)
		if err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err, fabric.ErrInvalid) {
			t.Errorf("%q: error %v, want one with %q", text, err, want)
		}
	}
}
