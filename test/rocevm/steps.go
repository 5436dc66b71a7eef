package rocevm

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// SetLink takes the RoCE interface up or down, as pulling the cable does: the
// port of the device follows.
func (g *Guest) SetLink(ctx context.Context, up bool) error {
	command := "ip link set " + g.Iface + " down"
	if up {
		// The port becomes active a moment after the interface.
		command = "ip link set " + g.Iface + " up && until grep -q ACTIVE /sys/class/infiniband/$ROCEVM_DEVICE/ports/1/state; do sleep 0.05; done"
	}
	_, err := g.Output(ctx, command)
	return err
}

// SetNetem disturbs what the guest sends, in the words of tc-netem(8), such as
// "loss 1%"; an empty text ends it. It has no effect between programs in one
// guest, whose packets never reach the interface.
func (g *Guest) SetNetem(ctx context.Context, disturbance string) error {
	command := "tc qdisc del dev " + g.Iface + " root 2>/dev/null || true"
	if disturbance != "" {
		command = "modprobe sch_netem && tc qdisc replace dev " + g.Iface + " root netem limit 10000 " + disturbance
	}
	_, err := g.Output(ctx, command)
	return err
}

// Dropped says how many packets the disturbance of SetNetem has dropped: a test
// of loss that lost nothing has shown nothing.
func (g *Guest) Dropped(ctx context.Context) (int, error) {
	text, err := g.Output(ctx, "tc -s qdisc show dev "+g.Iface)
	if err != nil {
		return 0, err
	}
	return parseDropped(text)
}

var droppedPackets = regexp.MustCompile(`(?s)qdisc netem .*?\(dropped (\d+),`)

func parseDropped(text string) (int, error) {
	m := droppedPackets.FindStringSubmatch(text)
	if m == nil {
		return 0, fmt.Errorf("rocevm: tc shows no netem; call SetNetem first:\n%s", text)
	}
	var n int
	_, err := fmt.Sscan(m[1], &n)
	return n, err
}

// AwaitPackets waits until the RoCE device of the process's guest has sent so many
// more packets: something is under way. It fails when the process ends before.
func (p *Process) AwaitPackets(ctx context.Context, packets int) error {
	return p.aliveUntil(ctx, fmt.Sprintf(`f=/sys/class/infiniband/$ROCEVM_DEVICE/ports/1/hw_counters/sent_pkts
end=$(($(cat $f) + %d)); until [ $(cat $f) -ge $end ]; do sleep 0.05; done`, packets))
}

// aliveUntil runs a shell command that waits for something in the guest of the
// process, and fails when the process ends first.
func (p *Process) aliveUntil(ctx context.Context, command string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		if r, err := p.Wait(ctx); err == nil {
			cancel(fmt.Errorf("rocevm: the program in guest %s ended (status %d) before:\n%s", p.guest.Name, r.Status, tail(r.Output, consoleTail)))
		}
	}()
	_, err := p.guest.Output(ctx, command)
	return err
}

// Ready says how to know that a server is ready: by a line that it prints, or by
// the port of TCP or rdma_cm that it listens on. Programs in C seldom flush the
// line.
type Ready struct {
	Line *regexp.Regexp
	Port int
}

func (r Ready) await(ctx context.Context, p *Process) error {
	if r.Line != nil {
		if _, err := p.Await(ctx, r.Line); err != nil {
			return err
		}
	}
	if r.Port != 0 {
		return p.awaitPort(ctx, r.Port)
	}
	return nil
}

// awaitPort waits until something in the guest listens on a port, of TCP or of
// rdma_cm, or the process ends.
func (p *Process) awaitPort(ctx context.Context, port int) error {
	return p.aliveUntil(ctx, fmt.Sprintf(`until grep -qE ':%04X [0-9A-F:]+ 0A ' /proc/net/tcp /proc/net/tcp6 ||
rdma resource show cm_id 2>/dev/null | grep -qE 'state LISTEN .*src-addr [^ ]*:%d( |$)'; do sleep 0.05; done`, port, port))
}

// Pair is a server and a client, in two guests or in one.
type Pair struct {
	Server, Client *Process
}

// StartPair starts the server, waits until it is ready, and starts the client.
func (c *Cluster) StartPair(ctx context.Context, server Command, ready Ready, client Command) (*Pair, error) {
	s, err := c.Server().Start(server)
	if err != nil {
		return nil, err
	}
	if err := ready.await(ctx, s); err != nil {
		_ = s.Signal(syscall.SIGKILL) // the error of waiting is the cause
		return nil, err
	}
	p, err := c.Client().Start(client)
	if err != nil {
		return nil, err
	}
	return &Pair{Server: s, Client: p}, nil
}

// Wait waits for the client and then for the server; both must end with
// status 0. It returns what the client printed.
func (p *Pair) Wait(ctx context.Context) (string, error) {
	client, err := p.Client.WaitOrQuit(ctx)
	if err == nil {
		err = client.Err()
	}
	if err != nil {
		return client.Output, fmt.Errorf("rocevm: client: %w\n%s", err, tail(client.Output, consoleTail))
	}
	server, err := p.Server.WaitOrQuit(ctx)
	if err == nil {
		err = server.Err()
	}
	if err != nil {
		return client.Output, fmt.Errorf("rocevm: server: %w\n%s", err, tail(server.Output, consoleTail))
	}
	return client.Output, nil
}

// Latency is what a latency tool of perftest measured.
type Latency struct {
	Bytes, Iterations                     int
	Min, Typical, Average, P99, P999, Max time.Duration
}

// Perftest runs a latency tool of perftest (ib_read_lat, ib_write_lat,
// ib_send_lat, ib_atomic_lat) with the arguments given, from the client guest to
// the server guest, and returns what it measured. Output may be nil.
func (c *Cluster) Perftest(ctx context.Context, output io.Writer, tool string, args ...string) (Latency, error) {
	text, err := c.perftest(ctx, output, nil, nil, tool, args...)
	if err != nil {
		return Latency{}, err
	}
	return parsePerftest(text)
}

// perftest runs any tool of perftest and returns what the client printed. The
// words of server and client come before the tool's name.
func (c *Cluster) perftest(ctx context.Context, output io.Writer, server, client []string, tool string, args ...string) (string, error) {
	argv := append([]string{tool, "-d", deviceName, "-x", "1", "-F"}, args...)
	p, err := c.StartPair(ctx, Command{Argv: slices.Concat(server, argv), Output: output}, Ready{Port: toolPort},
		Command{Argv: slices.Concat(client, argv, []string{c.Server().Address}), Output: output})
	if err != nil {
		return "", err
	}
	return p.Wait(ctx)
}

// perftestRow is the line of results: bytes, iterations, then microseconds:
// least, most, typical, average, deviation, 99 and 99.9 percentile.
var perftestRow = regexp.MustCompile(`(?m)^\s*\d+\s+\d+(?:\s+(?:[\d.]+|-?nan)){7}\s*$`)

// deviationColumn is not read: it is not a number now and then.
const deviationColumn = 6

func parsePerftest(text string) (Latency, error) {
	row := perftestRow.FindString(text)
	if row == "" {
		return Latency{}, fmt.Errorf("rocevm: no line of results from perftest:\n%s", tail(text, consoleTail))
	}
	var values [9]float64
	for i, text := range strings.Fields(row) {
		if i == deviationColumn {
			continue
		}
		var err error
		if values[i], err = strconv.ParseFloat(text, 64); err != nil {
			return Latency{}, fmt.Errorf("rocevm: results of perftest: %w", err)
		}
	}
	return Latency{
		Bytes: int(values[0]), Iterations: int(values[1]),
		Min: micros(values[2]), Max: micros(values[3]), Typical: micros(values[4]),
		Average: micros(values[5]), P99: micros(values[7]), P999: micros(values[8]),
	}, nil
}

func micros(f float64) time.Duration { return time.Duration(f * float64(time.Microsecond)) }
