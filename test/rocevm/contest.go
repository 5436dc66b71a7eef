package rocevm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Contest is one of our measurements beside one of perftest that answers the
// same or a related question.
type Contest struct {
	// Name says what is measured.
	Name string
	// Ours are the arguments of remora bench verbs. Of a round trip half counts, as
	// perftest does; Mean takes time over operations instead of the median.
	Ours       []string
	Half, Mean bool
	// Peer is a tool of perftest with its arguments. Of a latency tool the
	// typical time counts, which is the median; the others know only means.
	Peer []string
	// Target is the ratio that the project holds itself to; 0 for none.
	Target float64
	// Note says in what the two differ; empty: in nothing that we know of.
	Note string
}

// Contests returns what is compared, each with ops operations. Neither of the
// two sends data inline, since perftest does not on devices that it does not
// know; all requests are signaled, and no thread sleeps.
func Contests(ops int) []Contest {
	n, ours := strconv.Itoa(ops), oursWith(ops)
	return append(oneSided(ops), []Contest{
		{
			Name: "WRITE 64 B, half of WRITE answered by WRITE", Target: wantRatio, Half: true,
			Ours: ours("echo-ww", "64"), Peer: []string{"ib_write_lat", "-s", "64", "-n", n},
			Note: "like for like: this is what ib_write_lat measures",
		},
		{
			Name: "WRITE 64 B, post to completion, against that",
			Ours: ours("write", "64"), Peer: []string{"ib_write_lat", "-s", "64", "-n", n},
			Note: "not like for like: ours waits for the acknowledgement, theirs is one way",
		},
		{
			Name: "WRITE 64 B, post to completion, mean", Mean: true,
			Ours: ours("write", "64"), Peer: writeRate(ops),
			Note: "like for like, but means: perftest has no median of this",
		},
		{
			Name: "SEND 64 B, half of SEND answered by SEND", Half: true,
			Ours: ours("echo-ss", "64"), Peer: []string{"ib_send_lat", "-s", "64", "-n", n},
		},
	}...)
}

// CountContests returns what is compared in a guest that counts instructions:
// where one side alone works, so that one CPU is enough.
func CountContests(ops int) []Contest {
	return append(oneSided(ops), Contest{
		Name: "WRITE 64 B, post to completion", Target: wantRatio,
		Ours: oursWith(ops)("write", "64"), Peer: writeRate(ops),
		Note: "ours is a median, theirs a mean: perftest has no median of this. Where it has both, they agree here",
	})
}

func oneSided(ops int) []Contest {
	n, ours := strconv.Itoa(ops), oursWith(ops)
	return []Contest{
		{
			Name: "READ 64 B, post to completion", Target: wantRatio,
			Ours: ours("read", "64"), Peer: []string{"ib_read_lat", "-s", "64", "-n", n},
		},
		{
			Name: "FETCH_ADD, post to completion", Target: wantRatio,
			Ours: ours("fetch-add", "8"), Peer: []string{"ib_atomic_lat", "-A", "FETCH_AND_ADD", "-n", n},
		},
	}
}

// oursWith returns the arguments of a test of ours.
func oursWith(ops int) func(test, size string) []string {
	return func(test, size string) []string {
		return []string{test, "--size", size, "--inline=false", "--unsignaled=false", "--poll", "busy", "--ops", strconv.Itoa(ops)}
	}
}

// writeRate is WRITE with one request under way at a time.
func writeRate(ops int) []string {
	return []string{"ib_write_bw", "-s", "64", "-t", "1", "-Q", "1", "-n", strconv.Itoa(ops)}
}

// wantRatio is how much slower than perftest the project wants to be at most.
const wantRatio = 1.25

// Sample is a contest with the microseconds of each round. Theirs ran free, as
// the kernel schedules it, just before ours, and pinned to the CPUs that ours
// pins itself to, just after; where there is one CPU, free only.
type Sample struct {
	Contest
	OursUS, FreeUS, PinnedUS []float64
}

// Ratio is the median of the rounds' ratios, to that one of perftest's two ways
// to run to which it is larger. A host that shares its cores with others may be
// twice as slow from one moment to the next; then a median of times is of the
// moments that were more frequent, for each program another one. Two programs
// that ran one after the other had the same moment more often than not.
func (s *Sample) Ratio() float64 {
	return max(pairRatio(s.OursUS, s.FreeUS), pairRatio(s.OursUS, s.PinnedUS))
}

func pairRatio(ours, theirs []float64) float64 {
	ratios := make([]float64, len(theirs))
	for i := range theirs {
		ratios[i] = ours[i] / theirs[i]
	}
	return median(ratios)
}

// Compare runs all contests in turn, as often as rounds says.
func (c *Cluster) Compare(ctx context.Context, output io.Writer, contests []Contest, rounds int) ([]Sample, error) {
	var samples []Sample
	for _, contest := range contests {
		samples = append(samples, Sample{Contest: contest})
	}
	for range rounds {
		for i := range samples {
			if err := c.round(ctx, output, &samples[i]); err != nil {
				return nil, fmt.Errorf("%s: %w", samples[i].Name, err)
			}
		}
	}
	return samples, nil
}

func (c *Cluster) round(ctx context.Context, output io.Writer, s *Sample) error {
	free, err := c.peerUS(ctx, output, &s.Contest, false)
	if err != nil {
		return err
	}
	ours, err := c.oursUS(ctx, output, &s.Contest)
	if err != nil {
		return err
	}
	s.FreeUS, s.OursUS = append(s.FreeUS, free), append(s.OursUS, ours)
	if c.Accel == AccelCount {
		return nil
	}
	pinned, err := c.peerUS(ctx, output, &s.Contest, true)
	s.PinnedUS = append(s.PinnedUS, pinned)
	return err
}

func (c *Cluster) oursUS(ctx context.Context, output io.Writer, k *Contest) (float64, error) {
	rows, err := c.Verbs(ctx, output, k.Ours...)
	if err != nil {
		return 0, err
	}
	if len(rows) != 1 || rows[0].P50 <= 0 || rows[0].OpsPerSec <= 0 {
		return 0, fmt.Errorf("rocevm: remora bench verbs %s measured %+v", strings.Join(k.Ours, " "), rows)
	}
	us := rows[0].P50
	if k.Mean {
		us = 1e6 / rows[0].OpsPerSec
	}
	if k.Half {
		us /= 2
	}
	return us, nil
}

func (c *Cluster) peerUS(ctx context.Context, output io.Writer, k *Contest, pinned bool) (float64, error) {
	var server, client []string
	if pinned {
		server, client = []string{"taskset", "-c", "1"}, []string{"taskset", "-c", "0"}
	}
	text, err := c.perftest(ctx, output, server, client, k.Peer[0], k.Peer[1:]...)
	if err != nil {
		return 0, err
	}
	if strings.HasSuffix(k.Peer[0], "_bw") {
		return parseMessageRate(text)
	}
	l, err := parsePerftest(text)
	return float64(l.Typical.Nanoseconds()) / 1000, err
}

// bandwidthRow is the line of results of a bandwidth tool: bytes, iterations,
// peak and average bandwidth, and millions of messages in a second.
var bandwidthRow = regexp.MustCompile(`(?m)^\s*\d+\s+\d+\s+[\d.]+\s+[\d.]+\s+([\d.]+)\s*$`)

// parseMessageRate returns the microseconds for each message.
func parseMessageRate(text string) (float64, error) {
	m := bandwidthRow.FindStringSubmatch(text)
	if m == nil {
		return 0, fmt.Errorf("rocevm: no line of results from perftest:\n%s", tail(text, consoleTail))
	}
	rate, err := strconv.ParseFloat(m[1], 64)
	if err != nil || rate <= 0 {
		return 0, fmt.Errorf("rocevm: perftest says %q million messages in a second", m[1])
	}
	return 1 / rate, nil
}

// median of an odd or even number of values; 0 of none.
func median(values []float64) float64 {
	v := slices.Sorted(slices.Values(values))
	if len(v) == 0 {
		return 0
	}
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

// A short comparison for the scenarios.
const (
	shortRounds = 1
	shortOps    = 300
)

// CountOps is how many operations a comparison of instructions takes: for the
// first milliseconds a READ takes less, until the scheduler lets the kernel's
// thread for soft interrupts have its turn each time.
const CountOps = 5000

// latencyScenario compares the times of remora bench verbs with those of perftest. That
// there are numbers is checked, what they are is printed: they depend on what
// else the host does.
func latencyScenario(ctx context.Context, c *Cluster, output io.Writer) (string, error) {
	samples, err := c.Compare(ctx, output, Contests(shortOps), shortRounds)
	return ratios(samples), err
}

// instructionScenario compares instructions, which depend on nothing but the
// programs and the kernel: here the target counts.
func instructionScenario(ctx context.Context, c *Cluster, output io.Writer) (string, error) {
	samples, err := c.Compare(ctx, output, CountContests(CountOps), 1)
	if err != nil {
		return "", err
	}
	return ratios(samples), checkTargets(samples)
}

// checkTargets names the contests that were lost.
func checkTargets(samples []Sample) error {
	var errs []error
	for i := range samples {
		if s := &samples[i]; s.Target != 0 && s.Ratio() > s.Target {
			errs = append(errs, fmt.Errorf("%s: %.2f times %s, at most %.2f are wanted", s.Name, s.Ratio(), s.Peer[0], s.Target))
		}
	}
	return errors.Join(errs...)
}

func ratios(samples []Sample) string {
	text := make([]string, 0, len(samples))
	for i := range samples {
		s := &samples[i]
		text = append(text, fmt.Sprintf("%s: %.2f times %s", s.Name, s.Ratio(), s.Peer[0]))
	}
	return strings.Join(text, "; ")
}
