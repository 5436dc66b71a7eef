package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"

	"github.com/remora-kv/remora/server"
	"github.com/remora-kv/remora/test/scale"
)

// eachServe runs a test with a server over each fabric between processes.
func eachServe(t *testing.T, f func(t *testing.T, s *serving)) {
	bare(t)
	for name, url := range map[string]string{"shm": shmURL(t), "tcp": "tcp://127.0.0.1:0"} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, 1, nil, "--listen", url, "--cores", "2")
			f(t, s)
			s.end()
		})
	}
}

// line reads the one JSON object that a command prints.
func line(t *testing.T, text string) map[string]any {
	t.Helper()
	var object map[string]any
	if err := json.Unmarshal([]byte(text), &object); err != nil || strings.Count(text, "\n") != 1 {
		t.Errorf("%q is not one JSON object on a line: %v", text, err)
	}
	return object
}

// The address says by which path, of those that the server offers.
func TestPathOfAnAddress(t *testing.T) {
	eachServe(t, func(t *testing.T, s *serving) {
		long := strings.Repeat("long ", 1000)
		for _, path := range []string{"rfp", "reply", "herd", "sendrecv"} {
			url := s.urls[0] + "?path=" + path
			s.ok("set", path, long+path, "--server", url)
			s.ok("set", path+" short", path, "--server", url)
			if out := s.ok("get", path, "--server", url); out != long+path {
				t.Errorf("%s: get prints %d bytes", path, len(out))
			}
			if out := s.ok("get", path+" short", "--server", url); out != path {
				t.Errorf("%s: get prints %q", path, out)
			}
		}
		s.fails(exitUsage, "herd", "get", "rfp", "--server", s.urls[0]+"?path=sideways")
	})
}

func TestKeyCommands(t *testing.T) {
	eachServe(t, func(t *testing.T, s *serving) {
		s.fails(exitNotFound, "no such item", "get", "greeting")
		if out := s.ok("set", "greeting", "hello"); out != "" {
			t.Errorf("set prints %q", out)
		}
		if out := s.ok("get", "greeting"); out != "hello" {
			t.Errorf("get prints %q", out)
		}
		s.ok("set", "greeting", "")
		if out := s.ok("get", "greeting"); out != "" {
			t.Errorf("get of an empty value prints %q", out)
		}
		s.fails(exitCondition, "exists", "set", "greeting", "again", "--add")
		s.ok("set", "farewell", "bye", "--add")
		s.ok("set", "farewell", "good bye", "--replace")
		s.fails(exitNotFound, "no such item", "set", "nothing", "x", "--replace")
		s.ok("del", "farewell")
		s.fails(exitNotFound, "no such item", "del", "farewell")
		// All keys are tried.
		s.ok("set", "a", "1")
		s.ok("set", "b", "2")
		s.fails(exitNotFound, "no such item", "del", "a", "none", "b")
		s.fails(exitNotFound, "no such item", "get", "b")
		s.fails(exitNotFound, "remora: \"b\": no such item\nremora: \"c\": no such item\n", "del", "b", "c")
		// Several values follow each other, without a line between them where nobody reads.
		s.ok("set", "a", "one")
		s.ok("set", "b", "two\n")
		if out := s.ok("get", "a", "b", "a"); out != "onetwo\none" {
			t.Errorf("several keys: %q", out)
		}
		if r := s.talk("get", "a", "none", "b"); r.code != exitNotFound || r.out != "onetwo\n" || !strings.Contains(r.err, `"none": no such item`) {
			t.Errorf("several keys of which one is missing: %+v", r)
		}
		s.ok("del", "b")
		// The empty key is one.
		s.ok("set", "", "nameless")
		if out := s.ok("get", ""); out != "nameless" {
			t.Errorf("the empty key: %q", out)
		}
	})
}

func TestNumberAndTimeCommands(t *testing.T) {
	eachServe(t, func(t *testing.T, s *serving) {
		s.fails(exitNotFound, "no such item", "incr", "visits")
		s.ok("set", "visits", "0", "--add")
		for _, c := range []struct {
			want string
			args []string
		}{
			{"1\n", []string{"incr", "visits"}},
			{"42\n", []string{"incr", "visits", "41"}},
			{"37\n", []string{"incr", "visits", "--", "-5"}},
			{`{"key":"visits","value":38}` + "\n", []string{"incr", "visits", "--json"}},
		} {
			if out := s.ok(c.args...); out != c.want {
				t.Errorf("%v prints %q", c.args, out)
			}
		}
		s.ok("set", "text", "words")
		s.fails(exitFailure, "not a decimal number", "incr", "text")
		s.fails(exitUsage, "not a number", "incr", "visits", "many")
		s.fails(exitNotFound, "no such item", "touch", "none", "1h")
		if out := s.ok("touch", "visits", "1h"); out != "" {
			t.Errorf("touch prints %q", out)
		}
		got := line(t, s.ok("get", "visits", "--json"))
		ttl, _ := got["ttl_ms"].(float64)
		if got["value"] != "38" || ttl <= 0 || ttl > 3_600_000 {
			t.Errorf("get --json: %v", got)
		}
		s.ok("touch", "visits", "0")
		if got := line(t, s.ok("get", "visits", "--json")); got["ttl_ms"] != nil {
			t.Errorf("get --json after a touch without end: %v", got)
		}
		s.fails(exitUsage, "not a time to live", "touch", "visits", "soon")
		s.fails(exitUsage, "must not be negative", "set", "k", "v", "--ttl", "-1s")
	})
}

// Values are whatever bytes they are, from standard input and to standard output.
func TestBinaryValues(t *testing.T) {
	eachServe(t, func(t *testing.T, s *serving) {
		seed := scale.Seed(t)
		rng := rand.New(rand.NewPCG(seed, 0))
		value := make([]byte, 300_000)
		for i := range value {
			value[i] = byte(rng.Uint32())
		}
		for name, v := range map[string][]byte{
			"random": value, "empty": {}, "zero": {0}, "newline": []byte("line\n"), "windows": []byte("a\r\nb\r\n"), "dash": []byte("-"),
		} {
			env := []string{"REMORA_SERVER=" + s.urls[0]}
			for _, args := range [][]string{{"set", name}, {"set", name, "-"}} {
				if r := command(t, v, env, args...); r.code != exitOK || r.out+r.err != "" {
					t.Errorf("%s: %+v", name, r)
				}
				if out := s.ok("get", name); !bytes.Equal([]byte(out), v) {
					t.Errorf("%s: %d bytes come back as %d", name, len(v), len(out))
				}
			}
		}
		if r := command(t, make([]byte, 1<<20+1), []string{"REMORA_SERVER=" + s.urls[0]}, "set", "large"); r.code != exitFailure || !strings.Contains(r.err, "too large") {
			t.Errorf("a value that is too large: exit code %d, %s", r.code, r.err)
		}
	})
}

func TestJSONCommands(t *testing.T) {
	eachServe(t, func(t *testing.T, s *serving) {
		set := line(t, s.ok("set", "k", "v", "--json", "--flags", "7", "--ttl", "1h"))
		version := fmt.Sprintf("%.0f", set["version"])
		got := line(t, s.ok("get", "k", "--json"))
		if got["key"] != "k" || got["value"] != "v" || got["flags"] != 7.0 || fmt.Sprintf("%.0f", got["version"]) != version || got["ttl_ms"] == nil {
			t.Errorf("get --json: %v after %v", got, set)
		}
		// A change under the condition of this version, and then of an old one.
		next := line(t, s.ok("set", "k", "v2", "--cas", version, "--json"))
		if next["version"] == set["version"] {
			t.Errorf("the version stays: %v", next)
		}
		s.fails(exitCondition, "has changed", "set", "k", "v3", "--cas", version)
		if out := s.ok("get", "k"); out != "v2" {
			t.Errorf("the value is %q", out)
		}
		if r := command(t, []byte("\xff\x00"), []string{"REMORA_SERVER=" + s.urls[0]}, "set", "binary"); r.code != exitOK {
			t.Errorf("%+v", r)
		}
		if got := line(t, s.ok("get", "--json", "binary")); got["value_base64"] != "/wA=" || got["value"] != nil {
			t.Errorf("a value that is not text: %v", got)
		}
		r := s.talk("get", "--json", "k", "none", "binary")
		if r.code != exitNotFound || strings.Count(r.out, "\n") != 2 || !strings.Contains(r.err, "no such item") {
			t.Errorf("several keys of which one is missing: %+v", r)
		}
		ping := line(t, s.ok("ping", "--json"))
		if ping["server"] != s.urls[0] || ping["cores"] != 2.0 || ping["fabric"] == "" || ping["us"] == nil {
			t.Errorf("ping --json: %v", ping)
		}
	})
}

func TestStatsCommand(t *testing.T) {
	eachServe(t, func(t *testing.T, s *serving) {
		s.ok("set", "k", "v")
		s.ok("get", "k")
		fabric, _, _ := strings.Cut(s.urls[0], ":")
		text := s.ok("stats", "--per-client")
		for _, words := range []string{"mica engine", "cache mode", s.urls[0], "fabric " + fabric, "WRITE", "MiB mica", "evicted", "100.0 %", "batch"} {
			if !strings.Contains(text, words) {
				t.Errorf("%q is not in:\n%s", words, text)
			}
		}
		cores := s.stats()
		puts := uint64(0)
		for i := range cores {
			puts += cores[i].Ops["put"]
		}
		if len(cores) != 2 || puts != 1 {
			t.Errorf("%d cores, %d puts", len(cores), puts)
		}
		if out := s.ok("ping"); !strings.Contains(out, s.urls[0]+" answers over "+fabric) || !strings.Contains(out, "2 cores") {
			t.Errorf("ping prints %q", out)
		}
	})
}

// Mistakes and servers that are not there have their exit codes, and the message
// says what to do.
func TestClientMistakes(t *testing.T) {
	bare(t)
	nobody := shmURL(t)
	for _, c := range []struct {
		code int // 0: any but success
		want string
		args []string
	}{
		{exitUnavailable, "remora serve --listen " + nobody, []string{"get", "k", "--server", nobody}},
		{exitUnavailable, "Is a server running there?", []string{"ping", "--server", "tcp://127.0.0.1:1"}},
		{exitUnavailable, "stats", []string{"stats", "--server", nobody}},
		{0, "pigeon", []string{"get", "k", "--server", "pigeon:x"}},
		{0, "host:port", []string{"get", "k", "--server", "tcp://nowhere"}},
		{exitUsage, "needs a key", []string{"get"}},
		{exitUsage, "needs a key", []string{"del"}},
		{exitUsage, "takes a key and a value", []string{"set"}},
		{exitUsage, "takes a key and a value", []string{"set", "a", "b", "c"}},
		{exitUsage, "takes a key and a time to live", []string{"touch", "a"}},
		{exitUsage, "must be above 0", []string{"get", "k", "--timeout", "0s"}},
		{exitUsage, "--ttl", []string{"set", "k", "v", "--ttl", "soon"}},
		{exitUsage, "takes no arguments", []string{"ping", "pong"}},
		{exitUsage, "unknown option colour", []string{"get", "k", "--server", nobody + "?colour=red"}},
		{exitUsage, "unknown option path", []string{"kvl", "get", "k", "--server", nobody + "?path=herd"}},
		{exitUsage, "--per-client has no effect with --json", []string{"stats", "--per-client", "--json"}},
		{exitUsage, "--add and --replace exclude each other", []string{"set", "k", "v", "--add", "--replace"}},
	} {
		r := command(t, nil, nil, c.args...)
		if r.code == exitOK || c.code != 0 && r.code != c.code || r.out != "" || c.want != "stats" && !strings.Contains(r.err, c.want) {
			t.Errorf("%q: exit code %d, standard output %q, standard error %q without %q", c.args, r.code, r.out, r.err, c.want)
		}
	}
}

// The scripts for shells are made, and a shell can read them.
func TestCompletionScripts(t *testing.T) {
	bare(t)
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		r := command(t, nil, nil, "completion", shell)
		if r.code != exitOK || r.err != "" || !strings.Contains(r.out, "remora") {
			t.Errorf("%s: exit code %d, %d bytes, %s", shell, r.code, len(r.out), r.err)
		}
		if shell == "bash" {
			check := exec.CommandContext(t.Context(), "bash", "-n")
			check.Stdin = strings.NewReader(r.out)
			if text, err := check.CombinedOutput(); err != nil {
				t.Errorf("bash does not understand its script: %v, %s", err, text)
			}
		}
	}
	for args, want := range map[string]string{
		"serve --engine":    strings.Join(server.Engines(), "\n") + "\n",
		"serve --mode":      "cache\nstore\n",
		"serve --eviction":  "second-chance\nfifo\n",
		"serve --log-level": "debug\ninfo\nwarn\nerror\n",
	} {
		r := command(t, nil, nil, append(append([]string{"__complete"}, strings.Fields(args)...), "")...)
		if r.code != exitOK || !strings.HasPrefix(r.out, want) {
			t.Errorf("%s offers %q", args, r.out)
		}
	}
}
