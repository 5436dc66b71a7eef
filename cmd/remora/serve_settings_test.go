package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/remora-kv/remora/server"
)

// writeConfig writes a configuration file.
func writeConfig(t *testing.T, path string, lines ...string) string {
	t.Helper()
	if path == "" {
		path = filepath.Join(t.TempDir(), "remora.conf")
	}
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// What stands on the command line comes before the environment, that before the
// file, and that before the default.
func TestServeSettings(t *testing.T) {
	bare(t)
	first, second := shmURL(t), shmURL(t)
	file := writeConfig(t, "",
		"# settings of a test", "listen = "+first, "listen = tcp://127.0.0.1:0",
		"cores = 2", "engine = lru8", "mode = store", "max-value = 1000", "poll = busy", "prefetch = off", "log-format = json")
	s := serve(t, 2, []string{"REMORA_ENGINE=mica", "REMORA_POLL=adaptive", "REMORA_CORES=3"}, "--config", file, "--mode", "cache", "--cores", "1", "--prefetch", "on")
	if s.urls[0] != first || !strings.HasPrefix(s.urls[1], "tcp://127.0.0.1:") || strings.HasSuffix(s.urls[1], ":0") {
		t.Errorf("it listens on %v", s.urls)
	}
	cores := s.stats()
	if st := cores[0]; len(cores) != 1 || st.Engine != "mica" || st.Mode != "cache" || st.Poll != "adaptive" || !st.Prefetch || st.Store.Memory != 16<<20 {
		t.Errorf("%d cores, %+v", len(cores), st)
	}
	s.ok("set", "k", strings.Repeat("x", 1000))
	s.fails(exitFailure, "too large", "set", "k", strings.Repeat("x", 1001))
	for line := range strings.Lines(s.Said.String()) {
		var record map[string]any
		if json.Unmarshal([]byte(line), &record) != nil || record["msg"] == "" {
			t.Errorf("not JSON: %s", line)
		}
	}
	s.end()
	// The same without the command line, and then without the environment.
	s = serve(t, 1, []string{"REMORA_ENGINE=mica", "REMORA_LISTEN=" + second}, "--config", file)
	if st := s.stats(); len(st) != 2 || st[0].Engine != "mica" || st[0].Mode != "store" || st[0].Poll != "busy" || s.urls[0] != second {
		t.Errorf("%d cores, %+v", len(st), st[0])
	}
	s.end()
	s = serve(t, 2, nil, "--config", file)
	if st := s.stats(); len(st) != 2 || st[0].Engine != "lru8" || st[1].Mode != "store" || st[0].Prefetch {
		t.Errorf("%d cores, %+v", len(st), st[0])
	}
	s.end()
}

// A server that cannot start says what is wrong and where it stands.
func TestServeMistakes(t *testing.T) {
	bare(t)
	file := writeConfig(t, "", "engine = mica", "moed = store", "engine = lru8")
	taken := serve(t, 1, nil, "--listen", shmURL(t))
	for _, c := range []struct {
		code int // 0: any but success
		want []string
		env  []string
		args []string
	}{
		{exitUsage, []string{file + `:2: there is no setting "moed"`, file + ":3: engine is already set in line 1"}, nil, []string{"--config", file}},
		{exitFailure, []string{"cannot read the configuration", "no such file"}, nil, []string{"--config", file + ".none"}},
		{exitUsage, []string{"REMORA_CORES", "many"}, []string{"REMORA_CORES=many"}, nil},
		{exitUsage, []string{`"book" for "--mode" flag: use cache or store`}, nil, []string{"--mode", "book"}},
		{exitUsage, []string{`"--eviction" flag: use second-chance or fifo`}, nil, []string{"--eviction", "random"}},
		{exitUsage, []string{"adaptive or busy"}, nil, []string{"--poll", "lazy"}},
		{exitUsage, []string{`use on or off`}, nil, []string{"--prefetch", "never"}},
		{exitUsage, []string{`use debug, info, warn or error`}, nil, []string{"--log-level", "loud"}},
		{exitUsage, []string{`use text or json`}, nil, []string{"--log-format", "xml"}},
		{exitUsage, []string{"socket-mode", "0600"}, nil, []string{"--socket-mode", "rw"}},
		{exitUsage, []string{"socket-mode", "0666junk"}, nil, []string{"--socket-mode", "0666junk"}},
		{exitUsage, []string{"--socket-mode 0666 has no effect without --allow-user"}, nil, []string{"--socket-mode", "0666"}},
		{exitUsage, []string{"no effect with --socket-mode 0640"}, nil, []string{"--socket-mode", "0640", "--allow-user", "daemon"}},
		{exitUsage, []string{"--allow-user has no effect"}, nil, []string{"--listen", "tcp://127.0.0.1:0", "--allow-user", "daemon"}},
		{exitUsage, []string{`--allow-user "nobody-of-that-name"`}, nil, []string{"--allow-user", "nobody-of-that-name"}},
		{exitUsage, []string{`--allow-group "-1"`}, nil, []string{"--allow-group", "-1"}},
		{exitUsage, []string{"the option user is for clients"}, nil, []string{"--listen", shmURL(t) + "?user=root"}},
		{exitUsage, []string{"takes no arguments"}, nil, []string{"now"}},
		{exitUsage, []string{"--eviction has no effect"}, nil, []string{"--mode", "store", "--eviction", "fifo"}},
		{exitUsage, []string{"--eviction has no effect"}, nil, []string{"--engine", "lru8", "--eviction", "fifo"}},
		{exitUsage, []string{"--direct-reads on has no effect"}, nil, []string{"--listen", "text://127.0.0.1:0", "--direct-reads", "on"}},
		{exitUsage, []string{"--socket-mode has no effect"}, []string{"REMORA_SOCKET_MODE=0660"}, []string{"--listen", "tcp://127.0.0.1:0"}},
		{exitUsage, []string{"--direct-reads off has no effect"}, nil, []string{"--engine", "cuckoo", "--direct-reads", "off"}},
		{exitUsage, []string{"--prefetch has no effect"}, nil, []string{"--engine", "slots", "--prefetch", "on"}},
		{exitUsage, []string{"unknown option path"}, nil, []string{"--listen", "tcp://127.0.0.1:0?path=herd"}},
		{exitUsage, []string{"is not a size"}, nil, []string{"--memory", "much"}},
		{exitUsage, []string{"use " + either(server.Engines())}, nil, []string{"--engine", "steam"}},
		{exitUsage, []string{"--memory must be above 0", "1 GiB"}, nil, []string{"--memory", "0"}},
		{exitUsage, []string{"--max-value must be above 0"}, []string{"REMORA_MAX_VALUE=0B"}, nil},
		{exitUsage, []string{"--cores must be above 0"}, nil, []string{"--cores", "0"}},
		{exitFailure, []string{"--memory is more than this server can have", "limit-of="}, nil, []string{"--memory", "100TiB"}},
		{exitUsage, []string{"-5 clients per core"}, nil, []string{"--max-clients", "-5"}},
		{exitUsage, []string{"between 1 and 67108864"}, nil, []string{"--max-value", "1GiB"}},
		{exitUsage, []string{"each needs at least"}, nil, []string{"--memory", "1000"}},
		{exitUsage, []string{"pigeon:x"}, nil, []string{"--listen", "pigeon:x"}},
		{exitUsage, []string{"-3 cores"}, nil, []string{"--cores", "-3"}},
		{exitFailure, []string{"cannot listen on " + taken.urls[0], "a live server listens"}, nil, []string{"--listen", taken.urls[0]}},
		{exitFailure, []string{"cannot listen on", "directory must exist"}, nil, []string{"--listen", "shm:" + filepath.Join(t.TempDir(), "none", "s")}},
	} {
		args := append([]string{"serve", "--memory", "16MiB"}, c.args...)
		if !strings.Contains(fmt.Sprint(args), "--listen") {
			args = append(args, "--listen", shmURL(t))
		}
		r := command(t, nil, c.env, args...)
		if r.code == exitOK || c.code != 0 && r.code != c.code || r.out != "" {
			t.Errorf("%v %v: exit code %d, standard output %q", c.env, c.args, r.code, r.out)
		}
		for _, words := range c.want {
			if !strings.Contains(r.err, words) {
				t.Errorf("%v %v: %q is not in %s", c.env, c.args, words, r.err)
			}
		}
	}
	taken.ok("ping")
}

// With --json there is an object for each address on standard output, and the
// log is elsewhere.
func TestServeAnnounces(t *testing.T) {
	bare(t)
	url := shmURL(t)
	s := serve(t, 2, nil, "--listen", url, "--listen", "tcp://127.0.0.1:0", "--json", "--socket-mode", "0660", "--allow-group", "daemon")
	for i, line := range s.urls {
		var said struct{ Listening string }
		if err := json.Unmarshal([]byte(line), &said); err != nil {
			t.Errorf("%q: %v", line, err)
		}
		s.urls[i] = said.Listening
	}
	if s.urls[0] != url {
		t.Errorf("it listens on %v", s.urls)
	}
	if info, err := os.Stat(strings.TrimPrefix(url, "shm:")); err != nil || info.Mode().Perm() != 0o660 {
		t.Errorf("the socket: %v, %v", info, err)
	}
	s.Said.Await(t, "msg=serving", 1)
	for _, words := range []string{"msg=listening", "pid=", "engine=mica", "mode=cache"} {
		if !strings.Contains(s.Said.String(), words) {
			t.Errorf("%q is not in the log: %s", words, &s.Said)
		}
	}
	for _, url := range s.urls {
		if r := command(t, nil, nil, "ping", "--server", url); r.code != exitOK {
			t.Errorf("ping %s: %+v", url, r)
		}
	}
	s.end()
	if _, err := os.Stat(strings.TrimPrefix(url, "shm:")); err == nil {
		t.Error("the socket is left")
	}
}
