package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/remora-kv/remora/bench/target/cache"
)

func TestBenchCompare(t *testing.T) {
	code, out, errOut := runCmd(t, "bench", "compare", "--quick", "--keys", "200", "--ops", "300", "--memory", "64MiB", "--trials", "2",
		"--path", "rfp,reply,text", "--fabric", "loop,shm", "--baseline", "text")
	if code != exitOK || errOut != "" {
		t.Fatalf("exit code %d, standard error %q", code, errOut)
	}
	for _, want := range []string{"one operation at a time", "x text", "  loop ", "  shm ", "sockets", "of the best", "2 rounds"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	if code, _, errOut := runCmd(t, "bench", "compare", "--baseline", "nobody"); code != exitUsage || !strings.Contains(errOut, "nobody") {
		t.Errorf("exit code %d, %q", code, errOut)
	}
}

// What --quick means gives way to what is given besides it.
func TestBenchCompareQuick(t *testing.T) {
	f := compareFlags{quick: true}
	cmd := &cobra.Command{}
	f.registerStarted(cmd)
	if err := cmd.ParseFlags([]string{"--trials", "7", "--cores", "2"}); err != nil {
		t.Fatal(err)
	}
	c, err := f.comparison(cmd)
	b := c.Base
	if err != nil || b.Keys != cache.QuickKeys || b.Duration != cache.QuickDuration || b.Trials != 7 || b.Memory != 2*cache.QuickMemory || b.Paths != nil {
		t.Errorf("%v, %+v", err, b)
	}
	if err := cmd.ParseFlags([]string{"--value-size", "4096"}); err != nil {
		t.Fatal(err)
	}
	if c, err = f.comparison(cmd); err != nil || c.Base.Memory != 0 {
		t.Errorf("%v, memory %d for values that may not fit", err, c.Base.Memory)
	}
}

func TestBenchSweep(t *testing.T) {
	args := strings.Fields("bench sweep --keys 200 --ops 300 --memory 64MiB --fabric loop --over window=1,2,4 --over cores=1,2")
	code, out, _ := runCmd(t, args...)
	if code != exitOK || !strings.Contains(out, "ops/s over window") || strings.Count(out, "rfp ") < 6 {
		t.Errorf("exit code %d\n%s", code, out)
	}
	if code, out, _ := runCmd(t, append(args, "--json")...); code != exitOK || strings.Count(out, "\n") != 6 || strings.Count(out, `"cores":2`) != 3 {
		t.Errorf("exit code %d\n%s", code, out)
	}
	for bad, want := range map[string]string{
		"":                                "--over is missing",
		"--over window":                   "clients=1,2,4,8",
		"--over windows=1,2":              "no such axis",
		"--over trials=1,2":               "no such axis",
		"--over window=1,x":               "x",
		"--over window=1 --over window=2": "twice",
		"--window 4 --over window=1,2":    "twice",
		"--over clients=1 --window 1,2":   "--over",
		"--over clients=0 --fabric loop":  "--clients 0",
	} {
		if code, _, errOut := runCmd(t, append([]string{"bench", "sweep"}, strings.Fields(bad)...)...); code != exitUsage || !strings.Contains(errOut, want) {
			t.Errorf("%s: exit code %d, %q", bad, code, errOut)
		}
	}
}
