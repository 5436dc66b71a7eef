package rocevm

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

//go:embed probe/*.c probe/*.h
var toolSource embed.FS

const (
	probePath   = "/usr/bin/rocevm-probe"
	trafficPath = "/usr/bin/rocevm-traffic"
	// ProbeFile is where a guest keeps what its probe printed, for tests that
	// hold themselves to it; ROCEVM_PROBE names it.
	ProbeFile = "/run/rocevm.probe"
	probeEnd  = "end"
)

// Verdict is what the probe says about a capability.
type Verdict string

// The verdicts.
const (
	VerdictOK Verdict = "ok" // it was tried and works
	VerdictNo Verdict = "no" // it was tried and does not
	VerdictIs Verdict = "is" // a value
)

// Capability is one line of the probe.
type Capability struct {
	Subject string  `json:"subject"` // device, port, RC, UC, UD, CM
	Name    string  `json:"name"`
	Verdict Verdict `json:"verdict"`
	Text    string  `json:"text,omitempty"` // the value, or why not
}

// String is the line for people.
func (c Capability) String() string {
	text := c.Text
	switch c.Verdict {
	case VerdictOK:
		text = "ok"
	case VerdictNo:
		text = "no: " + c.Text
	case VerdictIs:
	}
	return fmt.Sprintf("%-6s %-30s %s", c.Subject, c.Name, text)
}

// ProbeReport is what the verbs of a guest can do.
type ProbeReport struct {
	Kernel       string       `json:"kernel"`
	Capabilities []Capability `json:"capabilities"`
}

// Missing lists what was tried and does not work.
func (r *ProbeReport) Missing() []Capability {
	var missing []Capability
	for _, c := range r.Capabilities {
		if c.Verdict == VerdictNo {
			missing = append(missing, c)
		}
	}
	return missing
}

// CompileTools compiles our programs in C, the probe and the traffic of the
// scenarios, into dir and returns the files for the guests.
func CompileTools(ctx context.Context, dir string) ([]File, error) {
	sources, err := fs.Sub(toolSource, "probe")
	if err != nil {
		return nil, err
	}
	if err := os.CopyFS(filepath.Join(dir, "src"), sources); err != nil {
		return nil, err
	}
	var files []File
	for name, guest := range map[string]string{"probe": probePath, "traffic": trafficPath} {
		program := filepath.Join(dir, name)
		cmd := exec.CommandContext(ctx, "gcc", "-std=c11", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra",
			"-o", program, filepath.Join(dir, "src", name+".c"), "-libverbs", "-lrdmacm")
		if text, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("rocevm: compile %s.c: %w; run script/deps rdma for gcc, libibverbs-dev and librdmacm-dev\n%s", name, err, text)
		}
		files = append(files, File{Host: program, Guest: guest})
	}
	return files, nil
}

// Probe runs the probe, which must be among the files of the guest, and leaves
// its output in ProbeFile there.
func (g *Guest) Probe(ctx context.Context) (*ProbeReport, error) {
	text, err := g.Output(ctx, probePath+" $ROCEVM_DEVICE 1 $ROCEVM_GID >"+ProbeFile+"; status=$?; cat "+ProbeFile+"; exit $status")
	if err != nil {
		return nil, err
	}
	report, err := parseProbe(text)
	if err != nil {
		return nil, err
	}
	report.Kernel = g.Release
	return report, nil
}

// parseProbe reads the lines of the probe up to its end marker.
func parseProbe(text string) (*ProbeReport, error) {
	r := &ProbeReport{}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if line == probeEnd {
			return r, nil
		}
		fields := strings.SplitN(line, "\t", 4)
		if len(fields) != 4 {
			return nil, fmt.Errorf("rocevm: the probe printed %q, which is not subject, name, verdict and text", line)
		}
		c := Capability{Subject: fields[0], Name: fields[1], Verdict: Verdict(fields[2]), Text: fields[3]}
		switch c.Verdict {
		case VerdictOK, VerdictNo, VerdictIs:
		default:
			return nil, fmt.Errorf("rocevm: the probe's verdict on %s %s is %q", c.Subject, c.Name, c.Verdict)
		}
		r.Capabilities = append(r.Capabilities, c)
	}
	return nil, errors.New("rocevm: the probe ended without its end marker: it crashed, and none of its answers count")
}
