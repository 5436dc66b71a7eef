package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/remora-kv/remora/rpc/rfp/tune"
)

// connectX3 saves a profile like that of the paper's hardware.
func connectX3(t *testing.T, path string) {
	t.Helper()
	var rs []tune.Reading
	for _, r := range []struct {
		size int
		rate float64
	}{{32, 11.26e6}, {256, 11.26e6}, {384, 9e6}, {512, 7.5e6}, {768, 5e6}, {1024, 4.2e6}, {2048, 2.1e6}} {
		rs = append(rs, tune.Reading{Size: r.size, Reads: r.rate, ReadTime: 1400 * time.Nanosecond, Replies: 2.11e6})
	}
	p, err := tune.NewProfile("rdma", rs)
	if err != nil {
		t.Fatal(err)
	}
	p.Machine, p.Date = "node7", time.Date(2026, 2, 3, 4, 5, 0, 0, time.UTC)
	if err := p.Save(path); err != nil {
		t.Fatal(err)
	}
}

func TestTuneChooses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "profile.json")
	connectX3(t, path)
	code, out, errOut := runCmd(t, "tune", "--profile", path, "--result-size", "32,300,300", "--process-time", "1us,5us")
	if code != exitOK || errOut != "" {
		t.Fatalf("exit code %d, standard error %q", code, errOut)
	}
	for _, words := range []string{
		"rdma, 2026-02-03 04:05 on node7", path, "[L,H] = [256,1024]", "[1,N] = [1,5]",
		"3 results, 2 process times", "*  4  312", "default  5  256", "rfp.Params{Retries: 4, FetchSize: 312}",
	} {
		if !strings.Contains(out, words) {
			t.Errorf("the report does not contain %q:\n%s", words, out)
		}
	}
	if strings.Contains(out, "saved") {
		t.Errorf("a profile that was there is saved:\n%s", out)
	}
}

func TestTunePrintsNothingButJSON(t *testing.T) {
	path := filepath.Join(t.TempDir(), "profile.json")
	connectX3(t, path)
	for rows, want := range map[int]int{1: 1, 5: 5, 0: (1024 - 256 + 1) * 5} {
		code, out, errOut := runCmd(t, "tune", "--profile", path, "--result-size", "300", "--rows", fmt.Sprint(rows), "--json")
		if code != exitOK || errOut != "" {
			t.Fatalf("exit code %d, standard error %q", code, errOut)
		}
		n := 0
		for line := range strings.Lines(out) {
			var v candidateLine
			if err := json.Unmarshal([]byte(line), &v); err != nil {
				t.Fatalf("%v in %q", err, line)
			}
			if v.Winner != (n == 0) || (n == 0 && (v.F != 312 || v.R != 4 || v.OneRead != 1 || v.Fabric != "rdma")) {
				t.Errorf("line %d: %s", n, line)
			}
			n++
		}
		if n != want {
			t.Errorf("--rows %d: %d lines, want %d", rows, n, want)
		}
	}
	code, out, _ := runCmd(t, "tune", "--profile", path, "--json")
	if code != exitOK || strings.Count(out, "\n") != 5*5 || !strings.Contains(out, `"reply_per_sec":2110000`) {
		t.Errorf("exit code %d, the profile as JSON:\n%s", code, out)
	}
}

func TestTuneMeasuresOnce(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	const fabric = "shm"
	args := []string{"tune", "--fabric", fabric, "--duration", "1ms"}
	code, out, errOut := runCmd(t, args...)
	if code != exitOK {
		t.Fatalf("%s: exit code %d, standard error %q", fabric, code, errOut)
	}
	path, err := tune.DefaultPath(fabric)
	if err != nil {
		t.Fatal(err)
	}
	for _, words := range []string{"READs/s", "<- L", "<- H", path + " (saved)", "R = 1", "--sample"} {
		if !strings.Contains(out, words) {
			t.Errorf("%s: the report does not contain %q:\n%s", fabric, words, out)
		}
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// The second time it is there.
	code, out, errOut = runCmd(t, append(args, "--result-size", "300")...)
	if code != exitOK || errOut != "" || strings.Contains(out, "saved") || !strings.Contains(out, "rfp.Params{") {
		t.Errorf("%s: exit code %d, standard error %q:\n%s", fabric, code, errOut, out)
	}
	if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
		t.Errorf("%s: measured again: %v", fabric, err)
	}
}

func TestTuneReadsASample(t *testing.T) {
	dir := t.TempDir()
	profile, sample := filepath.Join(dir, "profile.json"), filepath.Join(dir, "sample.json")
	connectX3(t, profile)
	s := tune.NewSample()
	for range 100 {
		s.Result(500)
	}
	if err := s.Save(sample); err != nil {
		t.Fatal(err)
	}
	code, out, errOut := runCmd(t, "tune", "--profile", profile, "--sample", sample)
	if code != exitOK || !strings.Contains(out, "FetchSize: 512") || !strings.Contains(out, "100 results, process times not known") {
		t.Errorf("exit code %d, %q:\n%s", code, errOut, out)
	}
	s.Reset()
	if err := s.Save(sample); err != nil {
		t.Fatal(err)
	}
	if code, _, errOut := runCmd(t, "tune", "--profile", profile, "--sample", sample); code != exitFailure || !strings.Contains(errOut, "no results") {
		t.Errorf("an empty sample: exit code %d, %q", code, errOut)
	}
	if err := os.WriteFile(profile, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, errOut = runCmd(t, "tune", "--profile", profile)
	if code != exitFailure || !strings.Contains(errOut, profile) || !strings.Contains(errOut, "--measure") {
		t.Errorf("a broken profile: exit code %d, %q", code, errOut)
	}
}

func TestTuneMistakes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "profile.json")
	connectX3(t, path)
	for args, want := range map[string]string{
		"now":                                 "takes no arguments",
		"--fabric ether":                      `"ether"`,
		"--result-size 1 --sample x":          "exclude each other",
		"--sample x --process-time 1us":       "its own times",
		"--process-time 1us":                  "needs --result-size",
		"--rows 3":                            "no effect without --result-size or --sample",
		"--result-size 1,-2":                  "negative",
		"--result-size 1 --process-time=-1us": "negative",
		"--rows -1":                           "negative",
		"--duration 0s":                       "more than 0",
		"--threads 0":                         "at least 1",
		"--server-command x":                  "--listen",
		"--fabric shm --profile " + path:      "is a profile of rdma: use --fabric rdma",
		"--result-size many":                  "--result-size",

		"--measure --threads 100000 --result-size 1": "--threads 100000",
	} {
		code, out, errOut := runCmd(t, append([]string{"tune"}, strings.Fields(args)...)...)
		if code != exitUsage || out != "" || !strings.Contains(errOut, want) || !strings.Contains(errOut, "remora tune --help") {
			t.Errorf("%s: exit code %d, standard output %q, standard error %q does not say %q", args, code, out, errOut, want)
		}
	}
}
