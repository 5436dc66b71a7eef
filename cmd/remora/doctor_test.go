package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/remora-kv/remora/internal/doctor"
)

// TestDoctor runs the command on the machine at hand.
func TestDoctor(t *testing.T) {
	var out bytes.Buffer
	a := &app{out: &out}
	if err := newDoctorCmd(a).RunE(nil, nil); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"memlock", "memory files", "Fabrics of this machine", "shm:", "tcp://"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report does not mention %s:\n%s", want, &out)
		}
	}
	out.Reset()
	a.json = true
	if err := newDoctorCmd(a).RunE(nil, nil); err != nil {
		t.Fatal(err)
	}
	fabrics := 0
	for line := range strings.Lines(out.String()) {
		var v struct{ Probe, Fabric, Mark string }
		if err := json.Unmarshal([]byte(line), &v); err != nil || v.Mark == "" || (v.Probe == "") == (v.Fabric == "") {
			t.Errorf("line %q: %v", line, err)
		}
		if v.Fabric != "" {
			fabrics++
		}
	}
	if fabrics != 4 {
		t.Errorf("verdicts on %d fabrics", fabrics)
	}
	if err := newDoctorCmd(a).Args(newDoctorCmd(a), []string{"x"}); err == nil {
		t.Error("arguments are accepted")
	}
}

// TestDoctorFails: a machine on which nothing works is an error, after the
// report.
func TestDoctorFails(t *testing.T) {
	broken := func() error { return errors.New("broken") }
	brokenAt := func(string) error { return errors.New("broken") }
	h := &doctor.Host{
		FS: fstest.MapFS{}, OS: "linux", Arch: "amd64", Getenv: func(string) string { return "" },
		TryMemfd: broken, TryTCP: broken, TryUDP: broken, TryUnix: brokenAt, TryOpen: brokenAt,
	}
	var out bytes.Buffer
	if err := diagnose(&app{out: &out}, h); err == nil || !strings.Contains(out.String(), "TCP on loopback does not work") {
		t.Errorf("error %v, report\n%s", err, &out)
	}
}
