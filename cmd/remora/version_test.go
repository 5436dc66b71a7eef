package main

import (
	"encoding/json"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
)

func TestVersion(t *testing.T) {
	code, out, _ := runCmd(t, "version")
	if code != exitOK || !strings.HasPrefix(out, "remora ") || !strings.Contains(out, runtime.Version()) {
		t.Errorf("exit code %d, %q", code, out)
	}
	code, out, _ = runCmd(t, "version", "--json")
	var v version
	if err := json.Unmarshal([]byte(out), &v); code != exitOK || err != nil || v.Go != runtime.Version() {
		t.Errorf("exit code %d, %q, %v", code, out, err)
	}
}

func TestVersionOfABuild(t *testing.T) {
	info := &debug.BuildInfo{
		Main: debug.Module{Version: "v1.2.3"},
		Settings: []debug.BuildSetting{
			{Key: "vcs.revision", Value: "0123456789abcdef"},
			{Key: "vcs.modified", Value: "true"},
			{Key: "vcs.time", Value: "2026-11-15T00:00:00Z"},
			{Key: "-tags", Value: "rdma"},
		},
	}
	s := versionOf(info).String()
	for _, words := range []string{"v1.2.3 0123456789ab modified of 2026-11-15T00:00:00Z", "tags rdma"} {
		if !strings.Contains(s, words) {
			t.Errorf("%q does not say %q", s, words)
		}
	}
	if v := versionOf(nil); v.Version != "unknown" {
		t.Errorf("a binary without build information has version %q", v.Version)
	}
}
