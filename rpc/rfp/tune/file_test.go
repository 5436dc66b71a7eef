package tune

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestProfileFile(t *testing.T) {
	p := paperProfile(t)
	p.Machine, p.How = "a machine, 2 CPUs", "by hand"
	p.Date = time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
	path := filepath.Join(t.TempDir(), "new", "profile.json")
	if err := p.Save(path); err != nil {
		t.Fatal(err)
	}
	got, err := LoadProfile(path)
	if err != nil || !reflect.DeepEqual(got, p) {
		t.Errorf("%v: saved %+v, loaded %+v", err, p, got)
	}
	b, err := os.ReadFile(path)
	if err != nil || !json.Valid(b) {
		t.Errorf("%v in\n%s", err, b)
	}
	// A line for each size, so that people can read it.
	if lines := strings.Count(string(b), "\n"); lines != 12+len(p.Points)+1 {
		t.Errorf("%d lines:\n%s", lines, b)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".remora-*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	p.N = 0
	if err := p.Save(path); err == nil || !strings.Contains(err.Error(), "n is 0") {
		t.Errorf("saved a wrong profile: %v", err)
	}
}

// What is wrong in a file is told by name.
func TestLoadProfileNamesFileAndField(t *testing.T) {
	path := filepath.Join(t.TempDir(), "profile.json")
	if err := paperProfile(t).Save(path); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ old, now, want string }{
		{`"version": 1`, `"version": 7`, "version is 7, this program knows 1"},
		{`"remora-profile"`, `"remora-sample"`, `format is "remora-sample"`},
		{`"fabric": "paper"`, `"fabric": ""`, "fabric is empty"},
		{`"l": 256`, `"l": 255`, "table[0].f is 256, must be l (255)"},
		{`"l": 256`, `"l": "x"`, "line 8: l is a string, must be a int"},
		{`"h": 1024`, `"h": 100000`, "h is 100000"},
		{`"n": 5`, `"n": 6`, "table[2].per_sec has 5 numbers, must have n (6)"},
		{`"n": 5`, `"m": 5`, `unknown field "m"`},
		{`"f":384`, `"f":900`, "table[2].f is 512, must be more than the one before, 900"},
		{`"f":384,"read_ns":1476`, `"f":384,"read_ns":-1`, "table[1].read_ns is -1"},
		{`"per_sec":[11260000,`, `"per_sec":[0,`, "table[0].per_sec[0], of R = 1, is 0"},
		{`"reply_per_sec":2110000`, `"reply_per_sec":0`, "table[0].reply_per_sec is 0"},
		{`"table": [`, `"table": [[`, "line "},
	} {
		bad := strings.Replace(string(good), tc.old, tc.now, 1)
		if bad == string(good) {
			t.Fatalf("%s is not in\n%s", tc.old, good)
		}
		if err := os.WriteFile(path, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := LoadProfile(path)
		if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %+v, error %q does not say %q", tc.now, p, err, tc.want)
		}
	}
	if _, err := LoadProfile(path + "x"); !os.IsNotExist(err) {
		t.Errorf("a file that is not there: %v", err)
	}
}

func TestSampleFile(t *testing.T) {
	s := NewSample()
	s.Result(0)
	for range 5 {
		s.Result(300)
		s.Process(1234 * time.Nanosecond)
	}
	s.Result(1 << 20)
	path := filepath.Join(t.TempDir(), "sample.json")
	if err := s.Save(path); err != nil {
		t.Fatal(err)
	}
	got, err := LoadSample(path)
	if err != nil || *got != *s {
		t.Errorf("loaded %v: %d results, %d times", err, got.Results(), got.Times())
	}
	b, _ := os.ReadFile(path)
	if !strings.Contains(string(b), `{"bytes":300,"count":5}`) {
		t.Errorf("not for people:\n%s", b)
	}
	if err := NewSample().Save(path); err != nil {
		t.Fatal(err)
	}
	if got, err := LoadSample(path); err != nil || got.Results() != 0 {
		t.Errorf("an empty one: %v", err)
	}
}

func TestLoadSampleNamesFileAndField(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sample.json")
	for text, want := range map[string]string{
		`{"format":"remora-sample","version":1,"results":[{"bytes":1,"count":1},{"bytes":-1,"count":1}]}`:        "results[1]",
		`{"format":"remora-sample","version":1,"results":[{"bytes":1,"count":4000000000}]}`:                      "results[0]",
		`{"format":"remora-sample","version":1,"process_times":[{"ns":-1,"count":1}]}`:                           "process_times[0]",
		`{"format":"remora-sample","version":1,"results":[{"bytes":1,"count":-1}]}`:                              "count",
		`{"format":"remora-sample","version":2}`:                                                                 "version is 2",
		"{\n\"format\":\"remora-sample\",\n\"version\":1,\n\"results\":[{\"bytes\":\"many\",\"count\":1}]}":      "line 4: results.bytes is a string",
		"{\n\"format\":\"remora-sample\",\n\"version\":1,\n\"results\":[}":                                       "line 4: invalid character",
		`{"format":"remora-sample","version":1,"results":[{"bytes":1,"count":1,"weight":7}],"process_times":[]}`: `unknown field "weight"`,
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := LoadSample(path); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: error %q does not say %q", text, err, want)
		}
	}
}

func TestDefaultPath(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", dir)
	t.Setenv("HOME", dir)
	path, err := DefaultPath("shm")
	if err != nil || !strings.HasPrefix(path, dir) || filepath.Base(path) != "profile-shm.json" {
		t.Errorf("%q, %v", path, err)
	}
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("HOME", "")
	if path, err := DefaultPath("shm"); err == nil {
		t.Errorf("%q without a home", path)
	}
}

// FuzzLoad: no file makes loading panic, and what loads can be used.
func FuzzLoad(f *testing.F) {
	path := filepath.Join(f.TempDir(), "profile.json")
	if err := paperProfile(f).Save(path); err != nil {
		f.Fatal(err)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(`{"format":"remora-sample","version":1,"results":[{"bytes":300,"count":5}],"process_times":[]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := parseSample("sample", b)
		if err != nil {
			s = NewSample()
		}
		if p, err := parseProfile("profile", b); err == nil {
			Evaluate(p, s, Choice{R: p.N, F: (p.L + p.H) / 2})
		}
	})
}
