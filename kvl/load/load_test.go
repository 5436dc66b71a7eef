package load_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/remora-kv/remora/kvl"
	"github.com/remora-kv/remora/kvl/load"
)

func TestFigure1(t *testing.T) {
	both(t, figure1, func(t *testing.T, name string) {
		got := must(t, name, "")
		wants(t, got, wantFigure1)
		if r := got.report; r.Rows != 5 || r.Links != 5 || r.Reverse != 5 || len(r.Tables) != 3 || len(r.Notes) != 0 {
			t.Errorf("report %+v", r)
		}
	})
}

// The completed mapping loads the same items.
func TestShownMappingIsTheSame(t *testing.T) {
	both(t, figure1, func(t *testing.T, name string) {
		src, err := load.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer src.Close()
		m, notes, err := src.Mapping(t.Context(), nil)
		if err != nil || len(notes) != 0 {
			t.Fatal(notes, err)
		}
		wants(t, must(t, name, string(m.JSON())), wantFigure1)
	})
}

// A mapping may omit what the catalog knows.
func TestShortMapping(t *testing.T) {
	both(t, figure1, func(t *testing.T, name string) {
		got := must(t, name, `{"tables": [
			{"table": "student", "type": "person", "prefix": "", "attributes": {"name": "called"},
			 "links": [{"columns": ["supervisor"], "table": "professor", "attribute": "boss", "reverse": "staff"},
			           {"columns": ["mentor"], "table": "professor", "reverse": ""}]},
			{"table": "professor", "prefix": ""}]}`)
		wants(t, got, `
prof001 (professor) department=depcs name=UVT staff=[stu001 stu002]
prof002 (professor) department=depcs name=IJK
stu001 (person) boss->prof001 called=ABY
stu002 (person) boss->prof001 called=DEF mentor->prof002
`)
		if len(got.report.Notes) != 1 || !strings.Contains(got.report.Notes[0], "department") {
			t.Errorf("notes %q do not say that departments are not loaded", got.report.Notes)
		}
	})
}

func TestCompositeKeys(t *testing.T) {
	both(t, `
CREATE TABLE room (building TEXT, number INTEGER, seats INTEGER, PRIMARY KEY (building, number));
CREATE TABLE lecture (id INTEGER PRIMARY KEY, b TEXT, n INTEGER, FOREIGN KEY (b, n) REFERENCES room (building, number));
INSERT INTO room VALUES ('A', 1, 10), ('A,1', 2, 20), ('A\', 3, 30);
INSERT INTO lecture VALUES (1, 'A', 1), (2, 'A,1', 2), (3, 'A\', 3), (4, 'A', NULL);`, func(t *testing.T, name string) {
		wants(t, must(t, name, ""), `
lecture/1 (lecture) b,n->room/A,1 b=A n=1
lecture/2 (lecture) b,n->room/A\,1,2 b=A,1 n=2
lecture/3 (lecture) b,n->room/A\\,3 b=A\ n=3
lecture/4 (lecture) b=A
room/A,1 (room) building=A number=1 seats=10 lecture.b,n=[lecture/1]
room/A\,1,2 (room) building=A,1 number=2 seats=20 lecture.b,n=[lecture/2]
room/A\\,3 (room) building=A\ number=3 seats=30 lecture.b,n=[lecture/3]
`)
	})
}

// Foreign keys may be in another order than the primary key, or refer to other columns.
func TestReferencesToOtherColumns(t *testing.T) {
	both(t, `
CREATE TABLE place (x INTEGER, y INTEGER, code TEXT UNIQUE, PRIMARY KEY (x, y), UNIQUE (y, x));
CREATE TABLE trip (id INTEGER PRIMARY KEY, fy INTEGER, fx INTEGER, dest TEXT REFERENCES place (code),
	FOREIGN KEY (fy, fx) REFERENCES place (y, x));
INSERT INTO place VALUES (1, 2, 'north'), (2, 1, 'south'), (3, 3, NULL);
INSERT INTO trip VALUES (7, 1, 2, 'north'), (8, NULL, NULL, NULL);`, func(t *testing.T, name string) {
		wants(t, must(t, name, ""), `
place/1,2 (place) code=north x=1 y=2 trip.dest=[trip/7]
place/2,1 (place) code=south x=2 y=1 trip.fy,fx=[trip/7]
place/3,3 (place) x=3 y=3
trip/7 (trip) dest->place/1,2 fx=2 fy,fx->place/2,1 fy=1
trip/8 (trip)
`)
	})
}

func TestSelfReferencesAndCycles(t *testing.T) {
	both(t, `
CREATE TABLE person (id INTEGER PRIMARY KEY, boss INTEGER REFERENCES person, friend INTEGER REFERENCES person (id));
INSERT INTO person VALUES (1, 1, NULL);
INSERT INTO person VALUES (2, 1, NULL);
INSERT INTO person VALUES (3, 1, 2);
UPDATE person SET friend = 3 WHERE id = 2;`, func(t *testing.T, name string) {
		got := must(t, name, "")
		d := dump(t, got.image)
		for _, want := range []string{
			"person/1 (person) boss->person/1", "person/2 (person) boss->person/1 friend->person/3 person.friend=[person/3]",
			"person/3 (person) boss->person/1 friend->person/2 person.friend=[person/2]",
		} {
			if !strings.Contains(d, want) {
				t.Errorf("no %q in %s", want, d)
			}
		}
		it := item(t, got.image, "person/1")
		number, _ := got.image.Schema().Number("person.boss")
		if list, ok := it.List(number); !ok || list.Len() != 3 {
			t.Errorf("the boss of three has a list of %d", list.Len())
		}
	})
}

func item(t *testing.T, m *kvl.Image, key string) kvl.Item {
	t.Helper()
	l, ok := m.Lookup([]byte(key))
	if !ok {
		t.Fatalf("no item %q", key)
	}
	it, err := m.Item(l)
	if err != nil {
		t.Fatal(err)
	}
	return it
}

func TestEdgeTable(t *testing.T) {
	both(t, `
CREATE TABLE person (id INTEGER PRIMARY KEY);
CREATE TABLE follows (who INTEGER REFERENCES person, whom INTEGER REFERENCES person);
INSERT INTO person VALUES (1), (2), (3);
INSERT INTO follows VALUES (1, 2), (1, 3), (3, 1), (2, NULL);`, func(t *testing.T, name string) {
		got := must(t, name, `{"tables": [{"table": "person", "prefix": ""}, {"table": "follows", "edge": {
			"from": {"columns": ["who"], "table": "person"}, "to": {"columns": ["whom"], "table": "person"},
			"list": "follows", "reverse": "followers"}}]}`)
		wants(t, got, `
1 (person) followers=[3] follows=[2 3]
2 (person) followers=[1]
3 (person) followers=[1] follows=[1]
`)
		if r := got.report; r.Links != 3 || r.Reverse != 3 || r.Tables[1].Rows != 4 || r.Tables[1].Links != 3 {
			t.Errorf("report %+v", r)
		}
	})
}

func TestNames(t *testing.T) {
	both(t, `
CREATE TABLE "select" ("from" INTEGER PRIMARY KEY, "a""b" TEXT, "größe 長さ" TEXT, "order" INTEGER REFERENCES "select" ("from"));
CREATE TABLE "we.ird; --" ("x y" INTEGER PRIMARY KEY, "'" INTEGER REFERENCES "select" ("from"));
INSERT INTO "select" VALUES (1, 'quote', 'lang', 1);
INSERT INTO "we.ird; --" VALUES (5, 1);`, func(t *testing.T, name string) {
		wants(t, must(t, name, ""), `
select/1 (select) a"b=quote größe 長さ=lang order->select/1 select.order=[select/1] we.ird; --.'=[we.ird; --/5]
we.ird; --/5 (we.ird; --) '->select/1
`)
	})
}

func TestEmptyTables(t *testing.T) {
	both(t, `CREATE TABLE a (id INTEGER PRIMARY KEY); CREATE TABLE b (id INTEGER PRIMARY KEY, a INTEGER REFERENCES a);
		INSERT INTO a VALUES (1)`, func(t *testing.T, name string) {
		got := must(t, name, "")
		wants(t, got, "\na/1 (a)\n")
		if r := got.report; len(r.Tables) != 2 || r.Tables[1].Rows != 0 {
			t.Errorf("report %+v", r)
		}
	})
}

func TestNoTables(t *testing.T) {
	both(t, `CREATE TABLE a (id INTEGER PRIMARY KEY); DROP TABLE a`, func(t *testing.T, name string) {
		says(t, try(t, name, "", kvl.Fail).err, "has no tables")
	})
}

func TestTwoRowsWithOneKey(t *testing.T) {
	both(t, `CREATE TABLE a (id INTEGER PRIMARY KEY, x TEXT); INSERT INTO a VALUES (1, 'same'), (2, 'same')`, func(t *testing.T, name string) {
		got := try(t, name, `{"tables": [{"table": "a", "key": ["x"]}]}`, kvl.Fail)
		says(t, got.err, "a/same")
		if !errors.Is(got.err, kvl.ErrDuplicate) {
			t.Errorf("error %v is no ErrDuplicate", got.err)
		}
	})
}

func TestCancelled(t *testing.T) {
	both(t, `CREATE TABLE a (id INTEGER PRIMARY KEY);
		INSERT INTO a WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50000) SELECT i FROM n`,
		func(t *testing.T, name string) {
			src, err := load.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			defer src.Close()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			b := newBuilder(t)
			report, err := load.Load(ctx, src, nil, b, func(p load.Progress) {
				if p.Rows > 0 {
					cancel()
				}
			})
			if !errors.Is(err, context.Canceled) {
				t.Errorf("error %v", err)
			}
			if report.Rows == 0 || report.Rows == 50000 {
				t.Errorf("%d rows were read before the end", report.Rows)
			}
			// The source remains usable.
			if report, err := load.Load(t.Context(), src, nil, newBuilder(t), nil); err != nil || report.Rows != 50000 {
				t.Errorf("loading again: %d rows, %v", report.Rows, err)
			}
		})
}

func newBuilder(t testing.TB) *kvl.Builder {
	t.Helper()
	b, err := kvl.NewBuilder(kvl.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// Progress ends at the announced total.
func TestProgress(t *testing.T) {
	name := makeSQLite(t, `CREATE TABLE a (id INTEGER PRIMARY KEY); CREATE TABLE b (id INTEGER PRIMARY KEY);
		INSERT INTO a WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000) SELECT i FROM n;
		INSERT INTO b SELECT id FROM a`)
	src, err := load.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	var all []load.Progress
	if _, err := load.Load(t.Context(), src, nil, newBuilder(t), func(p load.Progress) { all = append(all, p) }); err != nil {
		t.Fatal(err)
	}
	if !slices.IsSortedFunc(all, func(a, b load.Progress) int { return int(a.Done - b.Done) }) {
		t.Errorf("progress goes back: %v", all)
	}
	last := all[len(all)-1]
	if len(all) < 4 || last.Done != 20000 || last.Total != 20000 || last.Rows != 20000 || last.Table != "b" {
		t.Errorf("%d calls, the last: %+v", len(all), last)
	}
}

func TestWrongSources(t *testing.T) {
	for name, words := range map[string][]string{
		"data.xyz":                 {"unknown kind of source", "sqlite:"},
		"/nowhere/x.db":            {"no file", "/nowhere/x.db"},
		"sqlite:" + t.TempDir():    {"is a directory"},
		"postgres://%zz":           {"no source"},
		"postgres://h/d?sslmode=x": {"no source", "sslmode"},
	} {
		_, err := load.Open(name)
		says(t, err, words...)
		if !errors.Is(err, load.ErrSource) {
			t.Errorf("%s: %v is no ErrSource", name, err)
		}
	}
}
