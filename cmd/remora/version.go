package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is what `remora version --json` prints.
type version struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Time     string `json:"time,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	Tags     string `json:"tags,omitempty"`
}

func newVersionCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version of this binary",
		Example: "  remora version\n  remora version --json",
		Args:    noArgs,
		RunE:    func(*cobra.Command, []string) error { return a.printVersion() },
	}
}

func (a *app) printVersion() error {
	info, _ := debug.ReadBuildInfo()
	v := versionOf(info)
	if a.json {
		return json.NewEncoder(a.out).Encode(v)
	}
	_, err := fmt.Fprintln(a.out, v)
	return err
}

// programVersion is the version of this binary, as a server tells it.
func programVersion() string {
	info, _ := debug.ReadBuildInfo()
	return versionOf(info).Version
}

// versionOf reads what the Go tool stamped into the binary.
func versionOf(info *debug.BuildInfo) version {
	v := version{Version: "unknown", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info == nil {
		return v
	}
	v.Version = info.Main.Version
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		case "vcs.time":
			v.Time = s.Value
		case "-tags":
			v.Tags = s.Value
		}
	}
	return v
}

// String is the version in one line.
func (v version) String() string {
	s := "remora " + v.Version
	if v.Revision != "" {
		s += " " + v.Revision[:min(12, len(v.Revision))]
	}
	if v.Modified {
		s += " modified"
	}
	if v.Time != "" {
		s += " of " + v.Time
	}
	s += " " + v.Go + " " + v.Platform
	if v.Tags != "" {
		s += " tags " + v.Tags
	}
	return s
}
