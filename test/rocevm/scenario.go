package rocevm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"
)

// Scenario is something to do with booted guests whose outcome is known. Those
// with the tools of others come first: when they fail, ours are not to blame.
type Scenario struct {
	Name   string
	Guests int  // how many guests it needs; 0 for any number
	Counts bool // it needs a guest that counts instructions: AccelCount
	Remora bool // our own program must be in the guests: CompileRemora
	Run    func(ctx context.Context, c *Cluster, output io.Writer) (summary string, err error)
}

// perftestIterations is enough for a typical value under emulation.
const perftestIterations = "500"

// How often and how long RC tries: patient enough for a wire that comes back, or
// short enough to notice soon that no peer is there. The timeout is 4.096 us
// times two to the power of the number: half a second, and 67 ms. More than 6
// repetitions would be forever on rdma_rxe.
const (
	patientTimeout, patientRetries = 17, 6
	shortTimeout, fewRetries       = 14, 3
)

// How much to read: enough for some loss, enough to be still reading when the
// wire is cut, and more than anyone waits for.
const (
	lossReads = 400
	cutReads  = 2000
	endless   = 1 << 40
)

// scenarios in the order in which they run.
var scenarios = []Scenario{
	{Name: "perftest", Run: perftestScenario},
	{Name: "pingpong", Run: pingpongScenario},
	{Name: "loss", Guests: 2, Run: lossScenario},
	{Name: "cut", Guests: 2, Run: cutScenario},
	{Name: "link-server", Guests: 2, Run: linkScenario((*Cluster).Server)},
	{Name: "link-client", Guests: 2, Run: linkScenario((*Cluster).Client)},
	{Name: "kill", Guests: 2, Run: killScenario},
	{Name: "remora-doctor", Remora: true, Run: doctorScenario},
	{Name: "remora-verbs", Remora: true, Run: verbsScenario},
	{Name: "remora-latency", Guests: 1, Remora: true, Run: latencyScenario},
	{Name: "remora-instructions", Guests: 1, Counts: true, Remora: true, Run: instructionScenario},
}

// ScenarioNames lists the scenarios for a number of guests and what they run on.
func ScenarioNames(guests int, accel Accel) []string {
	var names []string
	for _, s := range scenarios {
		if (s.Guests == 0 || s.Guests == guests) && s.Counts == (accel == AccelCount) {
			names = append(names, s.Name)
		}
	}
	return names
}

// FindScenario returns a scenario by name.
func FindScenario(name string, guests int, accel Accel) (Scenario, error) {
	for _, s := range scenarios {
		switch {
		case s.Name != name:
		case s.Guests != 0 && s.Guests != guests:
			return s, fmt.Errorf("rocevm: scenario %s needs %d guests; add -guests %d", name, s.Guests, s.Guests)
		case s.Counts && accel != AccelCount:
			return s, fmt.Errorf("rocevm: scenario %s counts instructions; add -accel %s", name, AccelCount)
		case !s.Counts && accel == AccelCount:
			return s, fmt.Errorf("rocevm: scenario %s needs more than a CPU that counts instructions; leave -accel %s out", name, AccelCount)
		default:
			return s, nil
		}
	}
	return Scenario{}, fmt.Errorf("rocevm: no scenario %q for %d guests; there are %s", name, guests, strings.Join(ScenarioNames(guests, accel), ", "))
}

// perftestScenario measures each one-sided verb and SEND.
func perftestScenario(ctx context.Context, c *Cluster, output io.Writer) (string, error) {
	var text []string
	for _, tool := range []string{"ib_read_lat", "ib_write_lat", "ib_atomic_lat", "ib_send_lat"} {
		l, err := c.Perftest(ctx, output, tool, "-n", perftestIterations)
		if err != nil {
			return "", fmt.Errorf("%s: %w", tool, err)
		}
		text = append(text, fmt.Sprintf("%s %.0f us", tool, float64(l.Typical)/float64(time.Microsecond)))
	}
	return strings.Join(text, ", "), nil
}

var pingpongResult = regexp.MustCompile(`(?m)^\d+ iters in ([\d.]+) seconds`)

// pingpongScenario runs ibv_rc_pingpong, which validates what it receives.
func pingpongScenario(ctx context.Context, c *Cluster, output io.Writer) (string, error) {
	tool := []string{"ibv_rc_pingpong", "-d", deviceName, "-g", "1", "-c", "-n", "200"}
	p, err := c.StartPair(ctx, Command{Argv: tool, Output: output}, Ready{Port: toolPort},
		Command{Argv: append(tool, c.Server().Address), Output: output})
	if err != nil {
		return "", err
	}
	text, err := p.Wait(ctx)
	if err != nil {
		return "", err
	}
	m := pingpongResult.FindString(text)
	if m == "" {
		return "", fmt.Errorf("rocevm: no line of results from ibv_rc_pingpong:\n%s", tail(text, consoleTail))
	}
	return m, nil
}

// lossScenario reads while both sides lose one packet of a hundred.
func lossScenario(ctx context.Context, c *Cluster, output io.Writer) (text string, err error) {
	for _, g := range c.Guests {
		if err := g.SetNetem(ctx, "loss 1%"); err != nil {
			return "", err
		}
	}
	defer func() {
		for _, g := range c.Guests {
			err = errors.Join(err, g.SetNetem(ctx, ""))
		}
	}()
	r, err := c.Traffic(ctx, output, Traffic{Timeout: patientTimeout, Retries: patientRetries, Reads: lossReads}, nil)
	if err != nil {
		return "", err
	}
	lost := 0
	for _, g := range c.Guests {
		n, err := g.Dropped(ctx)
		if err != nil {
			return "", err
		}
		lost += n
	}
	if lost == 0 {
		return "", errors.New("netem dropped nothing, so nothing is proved; read more")
	}
	return fmt.Sprintf("%v, %d packets lost", r, lost), r.wantDone()
}

// cutScenario cuts the wire for a second, less than RC waits.
func cutScenario(ctx context.Context, c *Cluster, output io.Writer) (string, error) {
	g := c.Server()
	r, err := c.Traffic(ctx, output, Traffic{Timeout: patientTimeout, Retries: patientRetries, Reads: cutReads}, func() error {
		if err := g.SetNetem(ctx, "loss 100%"); err != nil {
			return err
		}
		_, err := g.Output(ctx, "sleep 1")
		lost, lostErr := g.Dropped(ctx)
		if lostErr == nil && lost == 0 {
			lostErr = errors.New("the reads were over before the wire was cut; read more")
		}
		return errors.Join(err, lostErr, g.SetNetem(ctx, ""))
	})
	if err != nil {
		return "", err
	}
	return r.String(), r.wantDone()
}

// killScenario kills the server's program.
func killScenario(ctx context.Context, c *Cluster, output io.Writer) (string, error) {
	t := Traffic{Timeout: shortTimeout, Retries: fewRetries, Reads: endless}
	t.server = make(chan *Process, 1)
	r, err := c.Traffic(ctx, output, t, func() error { return (<-t.server).Kill(ctx) })
	if err != nil {
		return "", err
	}
	return r.String(), r.wantFailed()
}

// linkScenario takes the link of one side down under way, and up again.
func linkScenario(side func(*Cluster) *Guest) func(context.Context, *Cluster, io.Writer) (string, error) {
	return func(ctx context.Context, c *Cluster, output io.Writer) (string, error) {
		g := side(c)
		r, err := c.Traffic(ctx, output, Traffic{Timeout: shortTimeout, Retries: fewRetries, Reads: endless}, func() error { return g.SetLink(ctx, false) })
		if err := errors.Join(err, g.SetLink(ctx, true)); err != nil {
			return "", err
		}
		if err := r.wantFailed(); err != nil {
			return "", err
		}
		again, err := c.Traffic(ctx, output, Traffic{Timeout: patientTimeout, Retries: patientRetries, Reads: 100}, nil)
		if err != nil {
			return "", fmt.Errorf("after the link came back: %w", err)
		}
		return fmt.Sprintf("%v; link up again: %v", r, again), again.wantDone()
	}
}
