package rocevm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const (
	remoraPackage = "github.com/remora-kv/remora/cmd/remora"
	remoraPath    = "/usr/bin/remora"
	// verbsPort is where the server guest starts a worker of bench verbs for whoever
	// connects.
	verbsPort = 18516
)

// CompileRemora compiles our program with the verbs provider into dir and
// returns the file for the guests.
func CompileRemora(ctx context.Context, dir string) ([]File, error) {
	program := filepath.Join(dir, "remora")
	cmd := exec.CommandContext(ctx, "go", "build", "-tags=rdma", "-o", program, remoraPackage)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=1", "GOOS=linux", "GOARCH=amd64")
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("rocevm: go build -tags rdma cmd/remora: %w; run script/deps rdma for libibverbs-dev\n%s", err, text)
	}
	return []File{{Host: program, Guest: remoraPath}}, nil
}

// VerbsRow is a line of remora bench verbs --json, as far as it matters here.
type VerbsRow struct {
	Test      string  `json:"test"`
	Fabric    string  `json:"fabric"`
	Transport string  `json:"transport"`
	Size      int     `json:"size"`
	Window    int     `json:"window"`
	Threads   int     `json:"threads"`
	QPs       int     `json:"qps"`
	Ops       uint64  `json:"ops"`
	OpsPerSec float64 `json:"ops_per_sec"`
	P50       float64 `json:"p50_us"`
	P99       float64 `json:"p99_us"`
	Lost      uint64  `json:"lost"`
	Samples   int64   `json:"samples"`
}

// Verbs runs remora bench verbs on the RoCE device with the arguments given and returns
// its rows: client and server in one guest, or one in each of two. The program
// of CompileRemora must be in the guests. Output may be nil.
func (c *Cluster) Verbs(ctx context.Context, output io.Writer, args ...string) ([]VerbsRow, error) {
	client := Command{Argv: append([]string{remoraPath, "bench", "verbs", "--fabric", "rdma", "--json"}, args...), Output: output}
	if len(c.Guests) == 1 {
		r, err := c.Client().Run(ctx, client)
		return verbsRows(r, err)
	}
	client.Argv = append(client.Argv, "--server-command", fmt.Sprintf("nc %s %d", c.Server().Address, verbsPort),
		"--listen", "rdma://"+c.Server().Address+":0")
	server := Command{Argv: []string{"nc", "-ll", "-p", strconv.Itoa(verbsPort), "-e", remoraPath, "bench", "worker", "verbs"}, Output: output}
	p, err := c.StartPair(ctx, server, Ready{Port: verbsPort}, client)
	if err != nil {
		return nil, err
	}
	rows, err := verbsRows(p.Client.WaitOrQuit(ctx))
	return rows, errors.Join(err, p.Server.Kill(ctx))
}

// verbsRows reads what remora bench verbs printed.
func verbsRows(r Result, err error) ([]VerbsRow, error) {
	if err == nil {
		err = r.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("rocevm: remora bench verbs: %w\n%s", err, tail(r.Output, consoleTail))
	}
	var rows []VerbsRow
	for line := range strings.Lines(r.Output) {
		if !strings.HasPrefix(line, "{") {
			continue // a warning
		}
		var row VerbsRow
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			return nil, fmt.Errorf("rocevm: remora bench verbs printed %q: %w", line, err)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// suiteOps is how many operations of each row the suite makes: one takes 50 to
// 300 us here, ten times that with a window on one CPU.
const suiteOps = "200"

// verbsSuite is what remora bench verbs must measure on each transport. A path that is added
// to it is a word here.
var verbsSuite = []struct {
	transport string
	tests     []string
	here      []string // only where client and server are in one guest
}{
	{"rc", []string{
		"read", "write", "send", "fetch-add", "echo-ss", "echo-ws", "echo-ww",
		"inbound-read", "inbound-write", "inbound-send", "outbound-read", "outbound-write", "outbound-send",
		"all-to-all", "all-to-all-out-write", "all-to-all-out-send",
	}, []string{"limit", "limit-pair", "idle"}},
	{"uc", []string{
		"write", "send", "echo-ss", "echo-ws", "echo-ww", "inbound-write", "inbound-send", "outbound-write", "outbound-send",
		"all-to-all", "all-to-all-out-write", "all-to-all-out-send",
	}, []string{"idle"}},
	{"ud", []string{"send", "echo-ss", "inbound-send", "outbound-send", "all-to-all-out-send"}, nil},
}

// herdEcho is HERD's echo: replies by datagrams, and a server that searches.
var herdEcho = []string{
	"echo-ws", "--transport", "uc", "--reply-transport", "ud", "--window", "1,8", "--size", "32",
	"--accesses", "2", "--prefetch", "on,off", "--table", "1MiB", "--ops", suiteOps,
}

// VerbsSuite measures every test of bench verbs on every transport that has it.
func (c *Cluster) VerbsSuite(ctx context.Context, output io.Writer) ([]VerbsRow, error) {
	var all []VerbsRow
	for _, s := range verbsSuite {
		want := s.tests
		if len(c.Guests) == 1 {
			want = slices.Concat(want, s.here)
		}
		rows, err := c.Verbs(ctx, output, "all", "--transport", s.transport, "--ops", suiteOps)
		if err == nil {
			err = checkSuite(rows, s.transport, want)
		}
		if err != nil {
			return all, fmt.Errorf("%s: %w", s.transport, err)
		}
		all = append(all, rows...)
	}
	rows, err := c.Verbs(ctx, output, herdEcho...)
	if err == nil {
		err = checkSuite(rows, "uc", []string{"echo-ws"})
	}
	if err != nil {
		return all, fmt.Errorf("HERD's echo: %w", err)
	}
	return append(all, rows...), nil
}

// checkSuite checks that no test is missing, that all rows measured something,
// and that RC lost nothing.
func checkSuite(rows []VerbsRow, transport string, want []string) error {
	var errs []error
	for _, test := range want {
		if !slices.ContainsFunc(rows, func(r VerbsRow) bool { return r.Test == test }) {
			errs = append(errs, fmt.Errorf("no row of %s", test))
		}
	}
	for _, r := range rows {
		switch {
		case r.Ops == 0 || r.P50 <= 0 || r.Samples == 0:
			errs = append(errs, fmt.Errorf("%s with window %d measured nothing: %+v", r.Test, r.Window, r))
		case transport == "rc" && r.Lost != 0:
			errs = append(errs, fmt.Errorf("%s with window %d lost %d messages on RC", r.Test, r.Window, r.Lost))
		}
	}
	return errors.Join(errs...)
}

// verbsScenario measures everything and says which tests there were.
func verbsScenario(ctx context.Context, c *Cluster, output io.Writer) (string, error) {
	rows, err := c.VerbsSuite(ctx, output)
	if err != nil {
		return "", err
	}
	var text []string
	for _, r := range rows {
		if r.Fabric == "rdma" && r.Window == 1 {
			text = append(text, fmt.Sprintf("%s %s %.0f us", r.Transport, r.Test, r.P50))
		}
	}
	return fmt.Sprintf("%d rows; typical: %s", len(rows), strings.Join(text, ", ")), nil
}

// doctorWords are what remora doctor must say about the guest: device, port,
// state, all GIDs, which one is taken, what the device can do.
func doctorWords(g *Guest) []string {
	return []string{
		deviceName + "/1", "ACTIVE", "RoCE v2", g.Address, "fe80::", g.Iface, "inline", "atomics", "RC, UC, UD", "rdma://" + g.Address,
	}
}

// doctorScenario runs remora doctor.
func doctorScenario(ctx context.Context, c *Cluster, output io.Writer) (string, error) {
	for _, g := range c.Guests {
		r, err := g.Run(ctx, Command{Argv: []string{remoraPath, "doctor"}, Output: output})
		if err == nil {
			err = r.Err()
		}
		if err != nil {
			return "", fmt.Errorf("remora doctor: %w\n%s", err, tail(r.Output, consoleTail))
		}
		for _, word := range doctorWords(g) {
			if !strings.Contains(r.Output, word) {
				return "", fmt.Errorf("remora doctor does not mention %q:\n%s", word, r.Output)
			}
		}
	}
	return "device, port, GIDs and limits are there", nil
}
