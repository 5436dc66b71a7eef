package tcp

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// BenchmarkRedis is what BenchmarkTarget/READ/size=64/window=16 is compared
// with: GETs of 64 bytes, one connection, pipelines of 16, server and client on
// a processor each. It runs where Redis is installed.
func BenchmarkRedis(b *testing.B) {
	server, err := exec.LookPath("redis-server")
	if err != nil {
		b.Skip("redis-server is not installed")
	}
	client, err := exec.LookPath("redis-benchmark")
	if err != nil {
		b.Skip("redis-benchmark is not installed")
	}
	port := freePort(b)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if runtime.NumCPU() > 1 {
		pinProcess(0) // children inherit it
	}
	run := exec.CommandContext(ctx, server, "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no")
	out, err := run.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := run.Start(); err != nil {
		b.Fatal(err)
	}
	defer func() {
		cancel()
		_ = run.Wait()
	}()
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if strings.Contains(lines.Text(), "eady to accept") {
			break
		}
	}
	if runtime.NumCPU() > 1 {
		pinProcess(1)
	}
	b.Run("GET/size=64/pipeline=16", func(b *testing.B) {
		n := max(b.N, 16)
		text, err := exec.CommandContext(ctx, client, "-p", port, "-c", "1", "-P", "16", "-t", "get", "-d", "64",
			"-n", strconv.Itoa(n), "--csv").Output()
		if err != nil {
			b.Fatal(err)
		}
		rate, err := csvRate(string(text))
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(rate, "ops/s")
	})
}

// csvRate finds the rate in the output of redis-benchmark --csv.
func csvRate(text string) (float64, error) {
	for line := range strings.Lines(text) {
		if fields := strings.Split(strings.TrimSpace(line), ","); len(fields) > 1 && fields[0] == `"GET"` {
			return strconv.ParseFloat(strings.Trim(fields[1], `"`), 64)
		}
	}
	return 0, fmt.Errorf("no rate in %q", text)
}

func freePort(tb testing.TB) string {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		tb.Fatal(err)
	}
	return port
}
