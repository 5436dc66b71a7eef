package rocevm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"time"
)

const (
	// toolPort is where the servers of perftest, ibv_*_pingpong and ours listen.
	toolPort = 18515
	// trafficFailure is the exit status of our traffic after a failed completion.
	trafficFailure = 3
	// stallTime bounds how long RC may take to give up on a peer that is gone.
	stallTime = 30 * time.Second
)

var (
	trafficReady   = regexp.MustCompile(`^ready$`)
	trafficReading = regexp.MustCompile(`^reading$`)
	trafficDone    = regexp.MustCompile(`(?m)^done \d+ reads$`)
	trafficFailed  = regexp.MustCompile(`(?m)^failed (\d+) .* after \d+ reads, \d+ flushed$`)
)

// Traffic is a client that keeps READs of RC outstanding at a server and checks
// every byte that it gets.
type Traffic struct {
	Timeout int // of RC: 4.096 us times two to this power
	Retries int // of RC
	Reads   int // when to stop
	server  chan *Process
}

// TrafficResult is how the client saw it end.
type TrafficResult struct {
	Failed int           // status of the failed completion, or 0
	Text   string        // the client's last words
	After  time.Duration // from the fault, or else the beginning, to the end
}

// String is the client's last words and when they came.
func (r TrafficResult) String() string { return fmt.Sprintf("%s, %.1f s", r.Text, r.After.Seconds()) }

func (r TrafficResult) wantDone() error {
	if r.Failed != 0 {
		return errors.New("RC should have recovered: " + r.Text)
	}
	return nil
}

func (r TrafficResult) wantFailed() error {
	if r.Failed == 0 {
		return errors.New("a completion should have failed: " + r.Text)
	}
	return nil
}

// Traffic runs the client until its end or failure. As soon as it reads, fault is
// called, unless it is nil. A client that hangs is an error; one whose READ
// fails is a result. The programs of CompileTools must be in the guests.
func (c *Cluster) Traffic(ctx context.Context, output io.Writer, t Traffic, fault func() error) (TrafficResult, error) {
	server := Command{Argv: []string{trafficPath, "server", deviceName, "1", strconv.Itoa(toolPort)}, Output: output}
	client := Command{Argv: []string{
		trafficPath, "client", deviceName, "1", strconv.Itoa(toolPort), c.Server().Address,
		strconv.Itoa(t.Timeout), strconv.Itoa(t.Retries), strconv.Itoa(t.Reads),
	}, Output: output}
	start := time.Now()
	p, err := c.StartPair(ctx, server, Ready{Line: trafficReady}, client)
	if err != nil {
		return TrafficResult{}, err
	}
	// A server whose wire is cut cannot know that its client is gone.
	defer func() { _ = p.Server.Kill(ctx) }()
	if fault != nil {
		if t.server != nil {
			t.server <- p.Server
		}
		if _, err := p.Client.Await(ctx, trafficReading); err != nil {
			return TrafficResult{}, err
		}
		start = time.Now()
		if err := fault(); err != nil {
			return TrafficResult{}, errors.Join(err, p.Client.Kill(ctx))
		}
	}
	return p.trafficResult(ctx, start)
}

func (p *Pair) trafficResult(ctx context.Context, start time.Time) (TrafficResult, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, stallTime, fmt.Errorf("it hangs: neither done nor failed after %v", stallTime))
	defer cancel()
	r, err := p.Client.WaitOrQuit(ctx)
	if err != nil {
		return TrafficResult{}, err
	}
	return parseTraffic(r, time.Since(start))
}

// parseTraffic finds the client's last words. Its exit status must agree.
func parseTraffic(r Result, after time.Duration) (TrafficResult, error) {
	t := TrafficResult{After: after}
	if t.Text = trafficDone.FindString(r.Output); t.Text != "" && r.Status == 0 {
		return t, nil
	}
	m := trafficFailed.FindStringSubmatch(r.Output)
	if m == nil || r.Status != trafficFailure {
		return t, fmt.Errorf("rocevm: the client of traffic ended with status %d:\n%s", r.Status, tail(r.Output, consoleTail))
	}
	t.Text = m[0]
	var err error
	t.Failed, err = strconv.Atoi(m[1])
	return t, err
}
