package doctor

import "fmt"

// Mark says what a finding means.
type Mark uint8

// The marks, from good to bad.
const (
	OK Mark = iota
	Warn
	No
)

var markNames = [...]string{"ok", "warn", "no"}

// String returns ok, warn or no.
func (m Mark) String() string {
	if int(m) < len(markNames) {
		return markNames[m]
	}
	return fmt.Sprintf("Mark(%d)", m)
}

// MarshalText implements encoding.TextMarshaler.
func (m Mark) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// Finding is what a probe found.
type Finding struct {
	// Probe is the name of the probe.
	Probe string `json:"probe"`
	Mark  Mark   `json:"mark"`
	// Found says in words what is there.
	Found string `json:"found"`
	// More are further lines for people; programs find it all in Values.
	More []string `json:"-"`
	// Next says what to do, if anything.
	Next string `json:"next,omitempty"`
	// Values are the facts behind Found, for programs.
	Values map[string]any `json:"values,omitempty"`
}

// Verdict says whether a fabric is usable.
type Verdict struct {
	Fabric string `json:"fabric"`
	Mark   Mark   `json:"mark"`
	Usable bool   `json:"usable"`
	// For says what the fabric is for.
	For string `json:"for"`
	// Address is an example of an address.
	Address string `json:"address"`
	// Reasons say why it is not usable, or not fully.
	Reasons []string `json:"reasons,omitempty"`
}

// Report is what was found on a machine.
type Report struct {
	Findings []Finding
	Verdicts []Verdict
}

// Examine runs all probes.
func Examine(h *Host) *Report {
	p := &patient{Host: h}
	for _, probe := range []func(*patient){
		probeKernel, probeContainer, probeCores, probeQuota, probeGovernor, probeClock,
		probeMemory, probeMemlock, probeHugepages, probeMemfd, probeUnix, probeTCP, probeUDP,
		probeBinary, probeLibraries, probeModules, probeNodes, probePorts,
	} {
		probe(p)
	}
	return &Report{Findings: p.findings, Verdicts: p.verdicts()}
}

// ExitCode is 0 when programs on this machine can talk: over shm or tcp.
func (r *Report) ExitCode() int {
	for _, v := range r.Verdicts {
		if v.Usable && (v.Fabric == "shm" || v.Fabric == "tcp") {
			return 0
		}
	}
	return 1
}

// patient is a host under examination, with what the probes found so far.
type patient struct {
	*Host
	findings []Finding

	container bool
	// What the verdicts depend on: empty, or why not.
	noMemfd, noUnix, noTCP, noUDP       string
	noBinary, noLibraries, noNode, noHW string
	socket                              string // where a socket file can be
	rdmaHost                            string // address of a usable port
	roceMTU                             int    // of the port that is examined; 0 is not known
}

func (p *patient) add(f Finding) { p.findings = append(p.findings, f) }

// ok, warn and no add a finding.
func (p *patient) ok(probe, found string, values map[string]any) {
	p.add(Finding{Probe: probe, Mark: OK, Found: found, Values: values})
}

// more adds lines to the last finding.
func (p *patient) more(lines ...string) {
	last := &p.findings[len(p.findings)-1]
	last.More = append(last.More, lines...)
}

func (p *patient) advise(probe, found, next string, values map[string]any) {
	p.add(Finding{Probe: probe, Mark: OK, Found: found, Next: next, Values: values})
}

func (p *patient) warn(probe, found, next string, values map[string]any) {
	p.add(Finding{Probe: probe, Mark: Warn, Found: found, Next: next, Values: values})
}

func (p *patient) no(probe, found, next string, values map[string]any) {
	p.add(Finding{Probe: probe, Mark: No, Found: found, Next: next, Values: values})
}
