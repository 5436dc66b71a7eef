package rocevm

import (
	"strings"
	"testing"
	"time"
)

func TestConfigDefaults(t *testing.T) {
	one, err := Config{}.withDefaults()
	if err != nil || one.Guests != 1 || one.CPUs != 2 || one.Memory != 2048 || one.MTU != 1500 || one.Accel != AccelAuto {
		t.Errorf("one guest: %+v, %v", one, err)
	}
	two, err := Config{Guests: 2}.withDefaults()
	if err != nil || two.CPUs != 1 {
		t.Errorf("two guests: %+v, %v", two, err)
	}
	counting, err := Config{Accel: AccelCount}.withDefaults()
	if err != nil || counting.Guests != 1 || counting.CPUs != 1 {
		t.Errorf("a guest that counts: %+v, %v", counting, err)
	}
	for _, c := range []Config{{Accel: AccelCount, CPUs: 2}, {Accel: AccelCount, Guests: 2}} {
		if _, err := c.withDefaults(); err == nil || !strings.Contains(err.Error(), "one CPU") {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestConfigReportsAllFaults(t *testing.T) {
	_, err := Config{
		Guests: 3, Memory: 1, CPUs: -1, MTU: 100, Accel: "hvf", BootTimeout: -time.Second,
		Files: []File{{Host: "x", Guest: "relative"}},
	}.withDefaults()
	if err == nil {
		t.Fatal("nothing was refused")
	}
	for _, part := range []string{"3 guests", "memory of 1", "-1 CPUs", "MTU of 100", `"hvf"`, "boot timeout", `"relative"`} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not name %s: %v", part, err)
		}
	}
}

func TestParseFile(t *testing.T) {
	for text, want := range map[string]File{
		"a:/b/c":    {"a", "/b/c"},
		"dir/x":     {"dir/x", "/x"},
		"/abs/y:/z": {"/abs/y", "/z"},
	} {
		if got, err := ParseFile(text); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"a:b", ":/b", "a:"} {
		if _, err := ParseFile(text); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
}

func TestMachineArgs(t *testing.T) {
	c := machineConfig{name: "x", kernel: "k", initrd: "i", accel: AccelTCG, memory: 512, cpus: 3, tscKHz: 1000, params: map[string]string{"b": "2", "a": "1"}}
	text := strings.Join(c.args(), " ")
	for _, part := range []string{"tcg,thread=multi -cpu max", "-smp 3", "-m 512", "tsc_early_khz=1000", "rocevm.a=1 rocevm.b=2", "fd=3"} {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in %s", part, text)
		}
	}
	if strings.Contains(text, "netdev") {
		t.Errorf("a machine without a wire has a network device: %s", text)
	}
	c.accel = AccelKVM
	if text := strings.Join(c.args(), " "); strings.Contains(text, "tsc_early_khz") || !strings.Contains(text, "kvm -cpu host") {
		t.Errorf("under KVM: %s", text)
	}
	c.accel = AccelCount
	text = strings.Join(c.args(), " ")
	for _, part := range []string{"tcg,thread=single -cpu max", "tsc_early_khz=1000000", "-icount shift=0"} {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in %s", part, text)
		}
	}
}
