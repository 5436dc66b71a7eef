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
	s := serve(t, 2, nil, "--kvl", file, "--listen", shmURL(t), "--listen", "tcp://127.0.0.1:0")
	for _, url := range s.urls {
		out := command(t, nil, nil, "item", "--server", url, "student/stu002", "--depth", "1").out
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
	decode(t, s.ok("item", "--json", "professor/prof001"), &item)
	if item.Type != "professor" || item.Values["name"] != "UVT" || *item.Links["department"] != "department/depcs" ||
		strings.Join(item.Lists["student.supervisor"], " ") != "student/stu001 student/stu002" {
		t.Errorf("%+v", item)
	}
	s.fails(exitNotFound, "no such item", "item", "student/stu999")

	execSQL(t, file, `UPDATE professor SET name = 'NEW' WHERE id = 'prof001'`)
	s.Signal(syscall.SIGHUP)
	cachetest.Await(t, "the new name", func() bool { return strings.Contains(s.ok("item", "professor/prof001"), "name: NEW") })
	var later linkedLine
	if decode(t, s.ok("item", "--json", "professor/prof001"), &later); later.Generation <= item.Generation {
		t.Errorf("generation %d after %d", later.Generation, item.Generation)
	}

	// What cannot be loaded changes nothing, and the log says why.
	execSQL(t, file, `PRAGMA foreign_keys = off; INSERT INTO student (id, name, supervisor) VALUES ('stu003', 'GHI', 'prof999')`)
	s.Signal(syscall.SIGHUP)
	cachetest.Await(t, "the failure", func() bool { return strings.Contains(s.Said.String(), "what was loaded before stays") })
	s.fails(exitNotFound, "no such item", "item", "student/stu003")
	s.ok("item", "student/stu001")
	s.end()
}

// It is loaded again by itself.
func TestServeKVLAtIntervals(t *testing.T) {
	bare(t)
	file := universityFile(t, "")
	s := serve(t, 1, nil, "--kvl", file, "--listen", shmURL(t), "--kvl-reload", "20ms", "--kvl-lease", "50ms")
	execSQL(t, file, `UPDATE student SET name = 'NEW' WHERE id = 'stu001'`)
	cachetest.Await(t, "the new name", func() bool { return strings.Contains(s.ok("item", "student/stu001"), "name: NEW") })
	s.end()
}

// Who asks for an item gets it, however often its generation ends meanwhile.
func TestItemWhileReloading(t *testing.T) {
	bare(t)
	s := serve(t, 1, nil, "--kvl", universityFile(t, ""), "--listen", shmURL(t), "--kvl-reload", "5ms", "--kvl-lease", "15ms")
	want := s.ok("item", "student/stu001", "--depth", "3")
	for range 30 {
		if got := s.ok("item", "student/stu001", "--depth", "3"); got != want {
			t.Fatalf("%s\nwas\n%s", got, want)
		}
	}
	s.end()
}

// It is loaded again by a command, where that is allowed, which says what became of it.
func TestReload(t *testing.T) {
	bare(t)
	file := universityFile(t, "")
	s := serve(t, 1, nil, "--kvl", file, "--listen", "tcp://127.0.0.1:0", "--kvl-command")
	var before, after struct{ Generation uint64 }
	decode(t, s.ok("reload", "--json"), &before)
	execSQL(t, file, `UPDATE student SET name = 'NEW' WHERE id = 'stu001'`)
	decode(t, s.ok("reload", "--json"), &after)
	if out := s.ok("item", "student/stu001"); !strings.Contains(out, "name: NEW") || after.Generation <= before.Generation {
		t.Errorf("generation %d after %d, and\n%s", after.Generation, before.Generation, out)
	}
	execSQL(t, file, `PRAGMA foreign_keys = off; INSERT INTO student (id, name, supervisor) VALUES ('stu003', 'GHI', 'prof999')`)
	s.fails(exitFailure, "prof999", "reload")
	s.ok("item", "student/stu001")
	s.end()

	s = serve(t, 1, nil, "--kvl", file, "--listen", shmURL(t), "--kvl-dangling", "drop")
	s.fails(exitFailure, "--kvl-command", "reload")
	s.end()
	r := command(t, nil, nil, "reload", "--server", shmURL(t), "--timeout", "200ms")
	r.check(t, exitUnavailable, "remora serve --kvl", nil)
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
		{exitUsage, "kvl-dangling", []string{"--kvl", file, "--kvl-dangling", "perhaps"}},
		{exitUsage, "kvl-reload", []string{"--kvl", file, "--kvl-reload", "-1s"}},
		{exitUsage, "Lease", []string{"--kvl", file, "--kvl-lease", "1ns"}},
		{exitUsage, "mapping.json", []string{"--kvl", file, "--kvl-mapping", mapping}},
		{exitUsage, "nosuch.db", []string{"--kvl", filepath.Join(t.TempDir(), "nosuch.db")}},
		{exitUsage, "what.xyz", []string{"--kvl", "what.xyz"}},
		{exitUsage, "text", []string{"--kvl", file, "--listen", "text://127.0.0.1:0"}},
	} {
		args := append([]string{"serve", "--listen", shmURL(t)}, c.args...)
		r := command(t, nil, nil, args...)
		if r.code != c.code || !strings.Contains(r.err, c.words) {
			t.Errorf("%q: exit code %d, want %d; %q without %q", args, r.code, c.code, r.err, c.words)
		}
	}
	r := command(t, nil, nil, "item", "k", "--server", shmURL(t), "--timeout", "200ms")
	r.check(t, exitUnavailable, "remora serve --kvl", nil)
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
	s := serve(t, 1, nil, "--kvl", url, "--listen", shmURL(t), "--kvl-notify", "changed")
	if out := s.ok("item", "student/stu001"); !strings.Contains(out, "supervisor -> professor/prof001") {
		t.Errorf("%s", out)
	}
	change(`UPDATE professor SET name = 'NEW' WHERE id = 'prof001'`)
	cachetest.Await(t, "the new name", func() bool {
		change(`NOTIFY changed`) // who listens a moment later is told the next time
		return strings.Contains(s.ok("item", "professor/prof001"), "name: NEW")
	})
	s.end()
}
