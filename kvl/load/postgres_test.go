package load_test

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/remora-kv/remora/kvl"
	"github.com/remora-kv/remora/kvl/load"
	"github.com/remora-kv/remora/test/pgtest"
)

func TestPostgresValues(t *testing.T) {
	name := makePostgres(t, `
SET timezone = 'Europe/Paris';
CREATE TYPE mood AS ENUM ('sad', 'happy');
CREATE TABLE v (id bigint PRIMARY KEY, t text, b bytea, r double precision, n numeric, yes boolean, d date, at timestamp, tz timestamptz,
	j jsonb, a int[], u uuid, m mood, i interval);
INSERT INTO v VALUES (1, 'text', '\x00ff', 0.1, 1.50, true, '2026-11-15', '2026-11-15 21:00:00.5', '2026-11-15 22:00:00+01',
	'{"x": [1]}', '{1,2}', '00000000-0000-0000-0000-000000000001', 'happy', '1 day 2 hours'),
	(2, '', '', 3, 3, false, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);`)
	// Settings of the database must not change the format of values.
	if err := pgtest.Exec(t.Context(), name, `ALTER ROLE postgres SET datestyle = 'German'; ALTER ROLE postgres SET bytea_output = 'escape'`); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = pgtest.Exec(context.WithoutCancel(t.Context()), name, `ALTER ROLE postgres RESET ALL`)
	})
	wants(t, must(t, name, ""), "\n"+strings.Join([]string{
		`v/1 (v) a={1,2} at=2026-11-15 21:00:00.5 b=` + "\x00\xff" + ` d=2026-11-15 i=P1DT2H j={"x": [1]} m=happy n=1.50 r=0.1 t=text` +
			` tz=2026-11-15 21:00:00+00 u=00000000-0000-0000-0000-000000000001 yes=t`,
		`v/2 (v) b= n=3 r=3 t= yes=f`,
	}, "\n")+"\n")
}

func TestPostgresSchemas(t *testing.T) {
	name := makePostgres(t, `
CREATE SCHEMA app; CREATE SCHEMA "odd.one";
CREATE TABLE city (id int PRIMARY KEY, name text);
CREATE TABLE app.city (id int PRIMARY KEY, twin int REFERENCES public.city);
CREATE TABLE "odd.one"."x y" (id int PRIMARY KEY, c int REFERENCES app.city);
CREATE TABLE "app.city" (id int PRIMARY KEY);
CREATE VIEW cities AS SELECT * FROM city; CREATE MATERIALIZED VIEW more AS SELECT * FROM city;
INSERT INTO city VALUES (1, 'Rome'); INSERT INTO app.city VALUES (2, 1); INSERT INTO "odd.one"."x y" VALUES (3, 2); INSERT INTO "app.city" VALUES (4);`)
	wants(t, must(t, name, ""), `
app.city/2 (app.city) twin->city/1 odd.one.x y.c=[odd.one.x y/3]
city/1 (city) name=Rome app.city.twin=[app.city/2]
odd.one.x y/3 (odd.one.x y) c->app.city/2
public.app.city/4 (public.app.city)
`)
	says(t, try(t, name, `{"tables": [{"table": "x y"}]}`, kvl.Fail).err, "m.json:1", `did you mean "odd.one.x y"?`)
}

// Partitions are read as one table; tables that inherit are read on their own.
func TestPostgresPartitionsAndInheritance(t *testing.T) {
	name := makePostgres(t, `
CREATE TABLE event (id int PRIMARY KEY, parent int) PARTITION BY RANGE (id);
CREATE TABLE event1 PARTITION OF event FOR VALUES FROM (0) TO (10);
CREATE TABLE event2 PARTITION OF event FOR VALUES FROM (10) TO (20);
ALTER TABLE event ADD FOREIGN KEY (parent) REFERENCES event (id);
CREATE TABLE base (id int PRIMARY KEY); CREATE TABLE derived (PRIMARY KEY (id), x int) INHERITS (base);
INSERT INTO event VALUES (1, NULL), (11, 1); INSERT INTO base VALUES (1); INSERT INTO derived VALUES (2, 3);`)
	wants(t, must(t, name, ""), `
base/1 (base)
derived/2 (derived) x=3
event/1 (event) event.parent=[event/11]
event/11 (event) parent->event/1
`)
}

func TestPostgresWithoutAKey(t *testing.T) {
	name := makePostgres(t, `CREATE TABLE log (line text); CREATE TABLE a (id int PRIMARY KEY); INSERT INTO log VALUES ('x'); INSERT INTO a VALUES (1);`)
	says(t, try(t, name, "", kvl.Fail).err, "without a primary key", "log", "--show-mapping")
	src, err := load.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	m, notes, err := src.Mapping(t.Context(), nil)
	if err != nil || len(notes) != 1 || !strings.Contains(notes[0], "log") {
		t.Fatalf("notes %q, error %v", notes, err)
	}
	wants(t, must(t, name, string(m.JSON())), "\na/1 (a)\n")
	wants(t, must(t, name, `{"tables": [{"table": "log", "key": ["line"]}]}`), "\nlog/x (log)\n")
	says(t, try(t, name, `{"tables": [{"table": "log"}]}`, kvl.Fail).err, "m.json:1: tables[0]", "no primary key")
}

func TestPostgresSnapshot(t *testing.T) {
	name := makePostgres(t, `CREATE TABLE a (id int PRIMARY KEY, v text); CREATE TABLE b (id int PRIMARY KEY, v text);
		INSERT INTO a VALUES (1, 'old'); INSERT INTO b VALUES (1, 'old');`)
	wants(t, interrupted(t, name, "b", func() {
		if err := pgtest.Exec(t.Context(), name, `UPDATE a SET v = 'new'; UPDATE b SET v = 'new'; INSERT INTO b VALUES (2, 'new')`); err != nil {
			t.Fatal(err)
		}
	}), "\na/1 (a) v=old\nb/1 (b) v=old\n")
	wants(t, must(t, name, ""), "\na/1 (a) v=new\nb/1 (b) v=new\nb/2 (b) v=new\n")
}

// killOthers is the statement that ends the connections of Remora to a database.
const killOthers = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'remora' AND datname = current_database()`

// A connection that is lost in the middle of a table causes an error that says so.
func TestPostgresFailsMidway(t *testing.T) {
	name := makePostgres(t, `CREATE TABLE a (id int PRIMARY KEY, v text); INSERT INTO a SELECT i, repeat('x', 100) FROM generate_series(1, 200000) i;`)
	got := interruptedAfter(t, name, 4096, func() {
		if err := pgtest.Exec(t.Context(), name, killOthers); err != nil {
			t.Fatal(err)
		}
	})
	says(t, got.err, "table a")
	if got.report.Rows < 4096 || got.report.Rows >= 200000 {
		t.Errorf("%d rows were read", got.report.Rows)
	}
}

// interruptedAfter loads a source and calls a function after a number of rows.
func interruptedAfter(t *testing.T, name string, rows int64, do func()) (out loaded) {
	t.Helper()
	src, err := load.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	done := false
	out.report, out.err = load.Load(t.Context(), src, nil, newBuilder(t), func(p load.Progress) {
		if p.Rows >= rows && !done {
			done = true
			do()
		}
	})
	return out
}

func TestPostgresNotThere(t *testing.T) {
	u := url.URL{Scheme: "postgres", User: url.UserPassword("me", "secret"), Path: "/d", RawQuery: url.Values{"host": {t.TempDir()}}.Encode()}
	err := try(t, u.String(), "", kvl.Fail).err
	says(t, err, "loading postgres://me:xxxxx@/d")
	if err != nil && strings.Contains(err.Error(), "secret") {
		t.Errorf("the error tells the password: %v", err)
	}
}

// Watch reports notifications, also after it lost its connection.
func TestWatch(t *testing.T) {
	name := makePostgres(t, "SELECT 1")
	ctx, cancel := context.WithCancel(t.Context())
	ready, changed, lost := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	end := make(chan error, 1)
	go func() {
		end <- load.Watch(ctx, load.WatchConfig{
			Source: name, Channel: `odd "channel"`,
			Ready:   func() { close(ready) },
			Changed: func() { changed <- struct{}{} },
			Lost:    func(err error) { lost <- err },
		})
	}()
	say := func(statement string) {
		t.Helper()
		if err := pgtest.Exec(t.Context(), name, statement); err != nil {
			t.Fatal(err)
		}
	}
	<-ready
	say(`NOTIFY "odd ""channel"""; NOTIFY other`)
	<-changed
	say(killOthers)
	if err := <-lost; !strings.Contains(err.Error(), `odd "channel"`) {
		t.Errorf("lost: %v", err)
	}
	<-changed // notifications in between may be lost
	say(`NOTIFY "odd ""channel"""`)
	<-changed
	select {
	case <-changed:
		t.Error("Changed was called without a change")
	default:
	}
	cancel()
	if err := <-end; !errors.Is(err, context.Canceled) {
		t.Errorf("Watch returned %v", err)
	}
}

// A notification while Changed runs causes another call. (TestWatchGathers checks how
// many.)
func TestWatchHearsWhileChangedRuns(t *testing.T) {
	name := makePostgres(t, "SELECT 1")
	ctx, cancel := context.WithCancel(t.Context())
	ready, goOn, end := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	calls := make(chan int, 100)
	n := 0
	go func() {
		end <- load.Watch(ctx, load.WatchConfig{
			Source: name, Channel: "c", Ready: func() { close(ready) },
			Changed: func() { n++; calls <- n; <-goOn },
		})
	}()
	say := func() {
		t.Helper()
		if err := pgtest.Exec(t.Context(), name, "NOTIFY c"); err != nil {
			t.Fatal(err)
		}
	}
	<-ready
	say()
	<-calls // and Changed runs until goOn
	for range 10 {
		say()
	}
	close(goOn)
	<-calls
	cancel()
	if err := <-end; !errors.Is(err, context.Canceled) {
		t.Errorf("Watch returned %v", err)
	}
	if n < 2 || n > 11 {
		t.Errorf("after 11 notifications, Changed was called %d times", n)
	}
}

func TestWatchRefuses(t *testing.T) {
	says(t, load.Watch(t.Context(), load.WatchConfig{Source: "postgres://h/d"}), "Channel and Changed")
	says(t, load.Watch(t.Context(), load.WatchConfig{Source: "postgres://%zz", Channel: "c", Changed: func() {}}), "no source")
}
