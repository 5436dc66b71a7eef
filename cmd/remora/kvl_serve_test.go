package main

import (
	"database/sql"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/remora-kv/remora/test/cachetest"
	"github.com/remora-kv/remora/test/pgtest"
)

// decode reads a line of JSON.
func decode(t *testing.T, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
}

// execSQL changes a database.
func execSQL(t *testing.T, file, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

// A database is served with its links, and again when it has changed.
func TestServeKVL(t *testing.T) {
	bare(t)
	file := universityFile(t, "")
	s := serveKVL(t, 2, file, "--listen", shmURL(t), "--listen", "tcp://127.0.0.1:0")
	for _, url := range s.urls {
		out := command(t, nil, nil, "kvl", "walk", "--server", url, "student/stu002", "--depth", "1").out
		for _, words := range []string{
			"student/stu002 (student)\n", "  name: DEF\n", "  supervisor -> professor/prof001\n", "  mentor -> professor/prof002\n",
			"professor/prof002 (professor)\n", "  department -> department/depcs\n", "  student.supervisor => student/stu001, student/stu002\n",
		} {
			if !strings.Contains(out, words) {
				t.Errorf("%s: %q is not in\n%s", url, words, out)
			}
		}
		if strings.Contains(out, "department/depcs (") {
			t.Errorf("more than one link away:\n%s", out)
		}
	}
	var item linkedLine
	decode(t, s.ok("kvl", "get", "--json", "professor/prof001"), &item)
	if item.Type != "professor" || item.Values["name"] != "UVT" || *item.Links["department"] != "department/depcs" ||
		strings.Join(item.Lists["student.supervisor"], " ") != "student/stu001 student/stu002" {
		t.Errorf("%+v", item)
	}
	s.fails(exitNotFound, "no such item", "kvl", "get", "student/stu999")
	if out := s.ok("kvl", "get", "student/stu001", "student/stu002"); !strings.Contains(out, "student/stu001 (") || !strings.Contains(out, "student/stu002 (") {
		t.Errorf("two items:\n%s", out)
	}
	// A server of items answers ping and stats, and refuses to be a cache.
	for _, args := range [][]string{{"stats"}, {"kvl", "stats"}} {
		if out := s.ok(args...); !strings.Contains(out, "5 items, 10 links") {
			t.Errorf("%v:\n%s", args, out)
		}
	}
	if out := s.ok("ping"); !strings.Contains(out, "items with links") {
		t.Errorf("ping: %s", out)
	}
	if got := line(t, s.ok("ping", "--json")); got["generation"] == nil {
		t.Errorf("ping --json: %v", got)
	}
	s.fails(exitFailure, "remora kvl get", "get", "student/stu001")
	s.fails(exitUsage, "--per-client", "stats", "--per-client")

	execSQL(t, file, `UPDATE professor SET name = 'NEW' WHERE id = 'prof001'`)
	s.Signal(syscall.SIGHUP)
	cachetest.Await(t, "the new name", func() bool { return strings.Contains(s.ok("kvl", "get", "professor/prof001"), "name: NEW") })
	var later linkedLine
	if decode(t, s.ok("kvl", "get", "--json", "professor/prof001"), &later); later.Generation <= item.Generation {
		t.Errorf("generation %d after %d", later.Generation, item.Generation)
	}

	// What cannot be loaded changes nothing, and the log says why.
	execSQL(t, file, `PRAGMA foreign_keys = off; INSERT INTO student (id, name, supervisor) VALUES ('stu003', 'GHI', 'prof999')`)
	s.Signal(syscall.SIGHUP)
	cachetest.Await(t, "the failure", func() bool { return strings.Contains(s.Said.String(), "the previous generation stays") })
	s.fails(exitNotFound, "no such item", "kvl", "get", "student/stu003")
	s.ok("kvl", "get", "student/stu001")
	s.end()
}

// It is loaded again by itself.
func TestServeKVLAtIntervals(t *testing.T) {
	bare(t)
	file := universityFile(t, "")
	s := serveKVL(t, 1, file, "--listen", shmURL(t), "--reload-every", "20ms", "--lease", "50ms")
	execSQL(t, file, `UPDATE student SET name = 'NEW' WHERE id = 'stu001'`)
	cachetest.Await(t, "the new name", func() bool { return strings.Contains(s.ok("kvl", "get", "student/stu001"), "name: NEW") })
	s.end()
}

// A client that asks for an item gets it, however many generations end meanwhile. A walk that
// takes longer than the lease begins again, so the lease allows for a busy machine.
func TestItemWhileReloading(t *testing.T) {
	bare(t)
	s := serveKVL(t, 1, universityFile(t, ""), "--listen", shmURL(t), "--reload-every", "100ms", "--lease", "1s")
	want := s.ok("kvl", "walk", "student/stu001", "--depth", "3")
	for range 30 {
		if got := s.ok("kvl", "walk", "student/stu001", "--depth", "3"); got != want {
			t.Fatalf("%s\nwas\n%s", got, want)
		}
	}
	s.end()
}

// It is loaded again by a command, where that is allowed, which says what became of it.
func TestReload(t *testing.T) {
	bare(t)
	file := universityFile(t, "")
	s := serveKVL(t, 1, file, "--listen", "tcp://127.0.0.1:0", "--allow-reload")
	var before, after struct{ Generation uint64 }
	decode(t, s.ok("kvl", "reload", "--json"), &before)
	execSQL(t, file, `UPDATE student SET name = 'NEW' WHERE id = 'stu001'`)
	decode(t, s.ok("kvl", "reload", "--json"), &after)
	if out := s.ok("kvl", "get", "student/stu001"); !strings.Contains(out, "name: NEW") || after.Generation <= before.Generation {
		t.Errorf("generation %d after %d, and\n%s", after.Generation, before.Generation, out)
	}
	execSQL(t, file, `PRAGMA foreign_keys = off; INSERT INTO student (id, name, supervisor) VALUES ('stu003', 'GHI', 'prof999')`)
	s.fails(exitFailure, "prof999", "kvl", "reload")
	s.ok("kvl", "get", "student/stu001")
	s.end()

	s = serveKVL(t, 1, file, "--listen", shmURL(t), "--dangling", "drop")
	s.fails(exitFailure, "--allow-reload", "kvl", "reload")
	s.end()
	r := command(t, nil, nil, "kvl", "reload", "--server", shmURL(t), "--timeout", "200ms")
	r.check(t, exitUnavailable, "remora kvl serve", nil)
}

// A cache is no server of items, and says so.
func TestKVLOfACache(t *testing.T) {
	bare(t)
	s := serve(t, 1, nil, "--listen", shmURL(t))
	s.fails(exitUnavailable, "is a cache", "kvl", "stats")
	s.end()
}

// The source can stand in the environment, where a password is not shown to others.
func TestServeKVLSource(t *testing.T) {
	bare(t)
	file := universityFile(t, "")
	s := serveBy(t, 1, []string{"REMORA_SOURCE=" + file}, "kvl", "serve", "--listen", shmURL(t))
	s.ok("kvl", "get", "student/stu001")
	s.end()
	r := command(t, nil, nil, "kvl", "serve")
	r.check(t, exitUsage, "SOURCE is missing", nil)
}

func TestServeKVLMistakes(t *testing.T) {
	bare(t)
	file := universityFile(t, "")
	mapping := filepath.Join(t.TempDir(), "mapping.json")
	if err := os.WriteFile(mapping, []byte(`{"tables": 7}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		code  int
		words string
		args  []string
	}{
		{exitUsage, "--notify has no effect without a PostgreSQL source", []string{file, "--notify", "changed"}},
		{exitUsage, "--dangling", []string{file, "--dangling", "perhaps"}},
		{exitUsage, "--reload-every", []string{file, "--reload-every", "-1s"}},
		{exitUsage, "Lease", []string{file, "--lease", "1ns"}},
		{exitUsage, "mapping.json", []string{file, "--mapping", mapping}},
		{exitUsage, "nosuch.db", []string{filepath.Join(t.TempDir(), "nosuch.db")}},
		{exitUsage, "what.xyz", []string{"what.xyz"}},
		{exitUsage, "text", []string{file, "--listen", "text://127.0.0.1:0"}},
	} {
		args := append([]string{"kvl", "serve", "--listen", shmURL(t)}, c.args...)
		r := command(t, nil, nil, args...)
		if r.code != c.code || !strings.Contains(r.err, c.words) {
			t.Errorf("%q: exit code %d, want %d; %q without %q", args, r.code, c.code, r.err, c.words)
		}
	}
	r := command(t, nil, nil, "kvl", "get", "k", "--server", shmURL(t), "--timeout", "200ms")
	r.check(t, exitUnavailable, "remora kvl serve", nil)
}

// PostgreSQL says when there is something new.
func TestServeKVLOnNotification(t *testing.T) {
	bare(t)
	var pg pgtest.Server
	t.Cleanup(func() {
		if err := pg.Stop(); err != nil {
			t.Error(err)
		}
	})
	url := pg.Database(t)
	change := func(statements string) {
		t.Helper()
		if err := pgtest.Exec(t.Context(), url, statements); err != nil {
			t.Fatal(err)
		}
	}
	change(tutorial(t, "<<'END'\n", "END\n"))
	s := serveKVL(t, 1, url, "--listen", shmURL(t), "--notify", "changed")
	if out := s.ok("kvl", "get", "student/stu001"); !strings.Contains(out, "supervisor -> professor/prof001") {
		t.Errorf("%s", out)
	}
	change(`UPDATE professor SET name = 'NEW' WHERE id = 'prof001'`)
	cachetest.Await(t, "the new name", func() bool {
		change(`NOTIFY changed`) // a server that listens later notices the next change
		return strings.Contains(s.ok("kvl", "get", "professor/prof001"), "name: NEW")
	})
	s.end()
}
