package verbs

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/fabric"
)

// limits is a device that can do everything, within bounds.
func limits() fabric.Limits {
	return fabric.Limits{
		MaxInline: 256, MaxSegs: 4, MaxDepth: 1024, MaxCQDepth: 1 << 16, MaxMessage: 1 << 20,
		MTU: 4096, MaxReads: 16, MaxPrivate: 56, MaxRegion: 1 << 30, UC: true, UD: true, Atomics: true,
	}
}

func TestDefaults(t *testing.T) {
	var c Config
	if err := c.normalize(); err != nil {
		t.Fatal(err)
	}
	if c.Fabric != "shm" || c.Trials != 1 || c.Duration != SuiteDuration {
		t.Errorf("the zero Config became %+v", c)
	}
	c = Config{Tests: []string{"read"}}
	if err := c.normalize(); err != nil {
		t.Fatal(err)
	}
	if c.Duration != DefaultDuration {
		t.Errorf("a single test runs for %v, want %v", c.Duration, DefaultDuration)
	}
}

func TestAllFaultsComeInOneError(t *testing.T) {
	c := Config{
		Tests: []string{"reed"}, Transport: "xrc", Sizes: []int{0}, Windows: []int{-1},
		Threads: -2, Duration: -time.Second, Trials: -1,
		ReplyTransport: "rc", Accesses: []int{-1, 65}, Table: 63,
	}
	err := c.normalize()
	if !errors.Is(err, bench.ErrUsage) {
		t.Fatalf("%v does not wrap ErrUsage", err)
	}
	for _, words := range []string{
		`test "reed" is unknown`, "fetch-add", `"xrc"`, "rc, uc or ud",
		"--size 0", "--window -1", "--threads -2", "--duration -1s", "--trials -1",
		`--reply-transport "rc"`, "--accesses -1", "--accesses 65", "--table of 63 bytes",
	} {
		if !strings.Contains(err.Error(), words) {
			t.Errorf("the error does not say %q:\n%v", words, err)
		}
	}
	c = Config{Prefetch: []bool{true}, Table: line}
	err = c.normalize()
	for _, words := range []string{"--prefetch is about", "--table is where"} {
		if !errors.Is(err, bench.ErrUsage) || !strings.Contains(err.Error(), words) {
			t.Errorf("without --accesses: %v does not say %q", err, words)
		}
	}
}

func TestWhatCannotBeMeasuredSaysWhatCan(t *testing.T) {
	small := limits()
	small.UC, small.UD, small.Atomics = false, false, false
	for _, tc := range []struct {
		name string
		cfg  Config
		lim  fabric.Limits
		want string
	}{
		{"READ on UD", Config{Tests: []string{"read"}, Transport: "ud"}, limits(), "read needs READ, which ud does not have: use --transport rc"},
		{"READ on UC", Config{Tests: []string{"read"}, Transport: "uc"}, limits(), "use --transport rc"},
		{"WRITE on UD", Config{Tests: []string{"write"}, Transport: "ud"}, limits(), "use --transport rc or uc"},
		{"atomic on UC", Config{Tests: []string{"fetch-add"}, Transport: "uc"}, limits(), "fetch-add needs FETCH_ADD"},
		{"echo on UD", Config{Tests: []string{"echo-ws"}, Transport: "ud"}, limits(), "echo-ws needs WRITE"},
		{"no UC", Config{Tests: []string{"write"}, Transport: "uc"}, small, "shm has no uc"},
		{"no UD", Config{Tests: []string{"send"}, Transport: "ud"}, small, "shm has no ud"},
		{"no atomics", Config{Tests: []string{"fetch-add"}}, small, "shm has no atomics"},
		{"inline READ", Config{Tests: []string{"read"}, Inline: On}, limits(), "only SEND and WRITE"},
		{"too much inline", Config{Tests: []string{"write"}, Sizes: []int{8, 257}, Inline: On}, limits(), "257 bytes, and shm takes at most 256"},
		{"unsignaled alone", Config{Tests: []string{"write"}, Unsignaled: On}, limits(), "--unsignaled needs --window 2"},
		{"deep window", Config{Tests: []string{"write"}, Windows: []int{513}}, limits(), "--window 513"},
		{"large datagram", Config{Tests: []string{"send"}, Sizes: []int{4097}, Transport: "ud"}, limits(), "at most 4096 bytes"},
		{"large message", Config{Tests: []string{"send"}, Sizes: []int{1<<20 + 1}}, limits(), "at most 1048576 bytes"},
		{"small echo", Config{Tests: []string{"echo-ww"}, Sizes: []int{7}}, limits(), "at least 8 bytes"},
		{"small limit", Config{Tests: []string{"limit"}, Sizes: []int{1}}, limits(), "at least 8 bytes"},
		{"wide atomic", Config{Tests: []string{"fetch-add"}, Sizes: []int{16}}, limits(), "always 8 bytes"},
		{"accesses of a client", Config{Tests: []string{"read"}, Accesses: []int{2}}, limits(), "use echo-ws or echo-ww, not read"},
		{"accesses of SENDs", Config{Tests: []string{"echo-ss"}, Accesses: []int{2}}, limits(), "use echo-ws or echo-ww, not echo-ss"},
		{"no room for a key", Config{Tests: []string{"echo-ws"}, Accesses: []int{2}, Sizes: []int{15}}, limits(), "at least 16 bytes"},
		{"replies that are written", Config{Tests: []string{"echo-ww"}, ReplyTransport: "ud"}, limits(), "use echo-ws, not echo-ww"},
		{"no UD for replies", Config{Tests: []string{"echo-ws"}, ReplyTransport: "ud"}, small, "leave out --reply-transport"},
		{"large reply", Config{Tests: []string{"echo-ws"}, ReplyTransport: "ud", Sizes: []int{5000}}, limits(), "at most 4096 bytes"},
		{"a crowd", Config{Tests: []string{"all-to-all-out"}, Transport: "ud", Threads: 64}, limits(), "one queue pair for all"},
		{"idle loop", Config{Tests: []string{"idle"}, Fabric: "loop"}, limits(), "use --fabric shm or tcp"},
		{"limit elsewhere", Config{Tests: []string{"limit"}, Remote: true}, limits(), "two processes of this host"},
		{"idle and busy", Config{Tests: []string{"idle"}, Poll: fabric.Busy}, limits(), "use --poll adaptive"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := tc.cfg
			if err := c.normalize(); err != nil {
				t.Fatal(err)
			}
			_, err := c.plan(tc.lim)
			if !errors.Is(err, bench.ErrUsage) {
				t.Fatalf("plan gave %v, want an error that wraps ErrUsage", err)
			}
			if !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%q does not say %q", err, tc.want)
			}
		})
	}
}
