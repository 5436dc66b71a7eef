package load_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/remora-kv/remora/kvl"
	"github.com/remora-kv/remora/kvl/load"
)

func TestSQLiteValues(t *testing.T) {
	name := makeSQLite(t, `CREATE TABLE v (id INTEGER PRIMARY KEY, i INTEGER, t TEXT, b BLOB, r REAL, d DATETIME, yes BOOLEAN, any,
			twice INTEGER GENERATED ALWAYS AS (i * 2));
		INSERT INTO v (id, i, t, b, r, d, yes, any) VALUES
			(1, -9223372036854775808, 'text', x'00ff', 0.1, '2026-11-15 21:00:00', 1, 'x'),
			(2, NULL, '', x'', 3.0, '2026-11-15', 0, 1e300),
			(3, 7, NULL, NULL, NULL, 1763240400, NULL, x'41'),
			(4, NULL, NULL, NULL, -1e-7, NULL, NULL, 9e999);`)
	wants(t, must(t, name, ""), "\n"+strings.Join([]string{
		"v/1 (v) any=x b=\x00\xff d=2026-11-15 21:00:00 i=-9223372036854775808 r=0.1 t=text twice=-1.8446744073709552e+19 yes=1",
		"v/2 (v) any=1e+300 b= d=2026-11-15 r=3 t= yes=0",
		"v/3 (v) any=A d=1763240400 i=7 twice=14",
		"v/4 (v) any=+Inf r=-1e-07",
	}, "\n")+"\n")
}

// Tables without a primary key have row numbers as keys, whatever names are free for them.
func TestSQLiteRowNumbers(t *testing.T) {
	name := makeSQLite(t, `CREATE TABLE a (x); CREATE TABLE b (rowid TEXT, x);
		INSERT INTO a VALUES ('one'), ('two'); DELETE FROM a WHERE x = 'one'; INSERT INTO b VALUES ('r', 'y');`)
	wants(t, must(t, name, ""), `
a/2 (a) x=two
b/1 (b) rowid=r x=y
`)
	all := makeSQLite(t, `CREATE TABLE c (rowid, oid, _rowid_)`)
	says(t, try(t, all, "", kvl.Fail).err, "primary key", "c;", "--show-mapping")
}

func TestSQLiteWithoutRowidViewsAndVirtualTables(t *testing.T) {
	name := makeSQLite(t, `CREATE TABLE w (k TEXT, n INTEGER, v, PRIMARY KEY (k, n)) WITHOUT ROWID;
		CREATE VIEW everything AS SELECT * FROM w; CREATE VIRTUAL TABLE f USING fts5(x); CREATE INDEX i ON w (v);
		INSERT INTO w VALUES ('b', 1, 'x'), ('a', 2, 'y'); INSERT INTO f VALUES ('word');`)
	got := must(t, name, "")
	wants(t, got, `
w/a,2 (w) k=a n=2 v=y
w/b,1 (w) k=b n=1 v=x
`)
}

// Names in SQLite ignore case, and a foreign key may omit its target columns.
func TestSQLiteCase(t *testing.T) {
	name := makeSQLite(t, `CREATE TABLE Parent (ID TEXT PRIMARY KEY); CREATE TABLE child (id TEXT PRIMARY KEY, p TEXT REFERENCES PARENT);
		CREATE TABLE other (id TEXT PRIMARY KEY, p TEXT REFERENCES parent (id));
		INSERT INTO parent VALUES ('x'); INSERT INTO child VALUES ('c', 'x'); INSERT INTO other VALUES ('o', 'x');`)
	wants(t, must(t, name, ""), `
Parent/x (Parent) child.p=[child/c] other.p=[other/o]
child/c (child) p->Parent/x
other/o (other) p->Parent/x
`)
	wants(t, must(t, name, `{"tables": [{"table": "PARENT", "prefix": "", "key": ["id"]}, {"table": "CHILD", "links": [{"columns": ["P"], "table": "parent"}]}]}`), `
child/c (child) p->x
x (Parent) child.p=[child/c]
`)
}

// dangling is a file with references to missing rows and tables, which SQLite does not check
// by default.
const dangling = `
CREATE TABLE professor (id TEXT PRIMARY KEY, code TEXT UNIQUE);
CREATE TABLE student (id INTEGER PRIMARY KEY, supervisor TEXT REFERENCES professor, mentor TEXT REFERENCES professor (code));
INSERT INTO professor VALUES ('p1', 'c1');
INSERT INTO student VALUES (1, 'p1', 'c1'), (2, 'p9', 'c1'), (3, 'p1', 'c9');`

func TestDangling(t *testing.T) {
	name := makeSQLite(t, dangling)
	want := []string{
		"student student/2: supervisor leads to professor/p9, which does not exist",
		"student student/3: mentor leads to professor/code=c9, which does not exist",
	}
	for policy, d := range map[kvl.Dangling]string{
		kvl.Fail: "",
		kvl.Drop: `
professor/p1 (professor) code=c1 student.mentor=[student/1 student/2] student.supervisor=[student/1 student/3]
student/1 (student) mentor->professor/p1 supervisor->professor/p1
student/2 (student) mentor->professor/p1
student/3 (student) supervisor->professor/p1
`,
		kvl.Null: `
professor/p1 (professor) code=c1 student.mentor=[student/1 student/2] student.supervisor=[student/1 student/3]
student/1 (student) mentor->professor/p1 supervisor->professor/p1
student/2 (student) mentor->professor/p1 supervisor->nowhere
student/3 (student) mentor->nowhere supervisor->professor/p1
`,
	} {
		got := try(t, name, "", policy)
		if policy == kvl.Fail {
			says(t, got.err, want[0], "2 of them")
		} else if got.err != nil {
			t.Fatal(got.err)
		} else {
			wants(t, got, d)
		}
		if got.stats.Dangling != 2 || len(got.stats.Dangled) != 2 {
			t.Fatalf("%v: %d dangling, listed: %v", policy, got.stats.Dangling, got.stats.Dangled)
		}
		for i, w := range want {
			if s := got.stats.Dangled[i].String(); s != w {
				t.Errorf("%v: listed %q, want %q", policy, s, w)
			}
		}
	}
}

// An edge with a missing end is reported once, whichever end it is.
func TestDanglingEdges(t *testing.T) {
	name := makeSQLite(t, `CREATE TABLE p (id INTEGER PRIMARY KEY); CREATE TABLE e (a INTEGER, b INTEGER);
		INSERT INTO p VALUES (1), (2); INSERT INTO e VALUES (1, 2), (1, 8), (9, 2);`)
	got := try(t, name, `{"tables": [{"table": "p"}, {"table": "e", "edge": {"from": {"columns": ["a"], "table": "p"},
		"to": {"columns": ["b"], "table": "p"}, "list": "out", "reverse": "in"}}]}`, kvl.Drop)
	if got.err != nil {
		t.Fatal(got.err)
	}
	wants(t, got, "\np/1 (p) out=[p/2]\np/2 (p) in=[p/1]\n")
	if got.stats.Dangling != 2 {
		t.Errorf("%d dangling: %v", got.stats.Dangling, got.stats.Dangled)
	}
}

func TestForeignKeyToNowhere(t *testing.T) {
	name := makeSQLite(t, `CREATE TABLE a (id INTEGER PRIMARY KEY, b INTEGER REFERENCES missing); INSERT INTO a VALUES (1, 2);`)
	got := must(t, name, "")
	wants(t, got, "\na/1 (a) b=2\n")
	if len(got.report.Notes) != 1 || !strings.Contains(got.report.Notes[0], "missing") {
		t.Errorf("notes %q", got.report.Notes)
	}
}

func TestNullInAKey(t *testing.T) {
	name := makeSQLite(t, `CREATE TABLE a (id TEXT PRIMARY KEY); INSERT INTO a VALUES ('x'), (NULL);`)
	says(t, try(t, name, "", kvl.Fail).err, "table a", "row 2", "NULL", "id")
}

// A load does not see, in any table, what is written while it runs (L1).
func TestSQLiteSnapshot(t *testing.T) {
	name := makeSQLite(t, `PRAGMA journal_mode = WAL; CREATE TABLE a (id INTEGER PRIMARY KEY, v); CREATE TABLE b (id INTEGER PRIMARY KEY, v);
		INSERT INTO a VALUES (1, 'old'); INSERT INTO b VALUES (1, 'old');`)
	writer, err := sql.Open("sqlite", name)
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	wants(t, interrupted(t, name, "b", func() {
		if _, err := writer.ExecContext(t.Context(), `UPDATE a SET v = 'new'; UPDATE b SET v = 'new'; INSERT INTO b VALUES (2, 'new')`); err != nil {
			t.Fatal(err)
		}
	}), "\na/1 (a) v=old\nb/1 (b) v=old\n")
	wants(t, must(t, name, ""), "\na/1 (a) v=new\nb/1 (b) v=new\nb/2 (b) v=new\n")
}

// interrupted loads a source and calls a function before a table is read.
func interrupted(t *testing.T, name, table string, do func()) (out loaded) {
	t.Helper()
	src, err := load.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	b := newBuilder(t)
	done := false
	out.report, out.err = load.Load(t.Context(), src, nil, b, func(p load.Progress) {
		if p.Table == table && !done {
			done = true
			do()
		}
	})
	if out.err != nil {
		return out
	}
	if !done {
		t.Fatalf("table %s was not read", table)
	}
	out.image, out.err = b.Seal(t.Context())
	if out.image != nil {
		t.Cleanup(func() { _ = out.image.Close() })
	}
	return out
}

// A load of a file that is damaged in the middle fails there.
func TestSQLiteFailsMidway(t *testing.T) {
	name := makeSQLite(t, `CREATE TABLE a (id INTEGER PRIMARY KEY, v TEXT);
		INSERT INTO a WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) SELECT i, hex(randomblob(40)) FROM n`)
	file, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	info, _ := file.Stat()
	const page = 4096
	if _, err := file.WriteAt(bytes.Repeat([]byte{0xff}, 4*page), info.Size()/2/page*page); err != nil {
		t.Fatal(err)
	}
	_ = file.Close()
	got := try(t, name, "", kvl.Fail)
	says(t, got.err, name, "table a", "malformed")
	if got.report.Rows == 0 || got.report.Rows >= 20000 {
		t.Errorf("%d rows were read", got.report.Rows)
	}
}

func TestSQLiteFileIsNotChanged(t *testing.T) {
	name := makeSQLite(t, figure1)
	before, _ := os.ReadFile(name)
	must(t, name, "")
	after, _ := os.ReadFile(name)
	if !bytes.Equal(before, after) {
		t.Error("the file has changed")
	}
	if left, _ := filepath.Glob(name + "?*"); len(left) != 0 {
		t.Errorf("left beside it: %v", left)
	}
}

func TestSQLiteOddPaths(t *testing.T) {
	for _, odd := range []string{"a b.db", "what?.db", "50%.db", "#1.db", "ü.sqlite3", "a&mode=rw.db"} {
		path := filepath.Join(t.TempDir(), odd)
		if err := os.Rename(makeSQLite(t, figure1), path); err != nil {
			t.Fatal(err)
		}
		wants(t, must(t, path, ""), wantFigure1)
		wants(t, must(t, "sqlite:"+path, ""), wantFigure1)
	}
}

func TestNoSQLiteFile(t *testing.T) {
	path := makeFile(t, "x.db", strings.Repeat("this is not a database. ", 100))
	says(t, try(t, path, "", kvl.Fail).err, path, "not a database")
}

// The same file gives the same bytes (L5).
func TestSameRowsGiveSameBytes(t *testing.T) {
	var rows strings.Builder
	for i := range 500 {
		fmt.Fprintf(&rows, "INSERT INTO student VALUES ('s%d', 'name', 'prof00%d', NULL);", i, i%2+1)
	}
	name := makeSQLite(t, figure1+rows.String())
	a, b := must(t, name, ""), must(t, name, "")
	for i, block := range a.image.Areas() {
		if !bytes.Equal(block.Bytes(), b.image.Areas()[i].Bytes()) {
			t.Errorf("area %d differs", i)
		}
	}
}

func TestItemsThatCannotBe(t *testing.T) {
	name := makeSQLite(t, `CREATE TABLE a (id TEXT PRIMARY KEY); INSERT INTO a VALUES ('x'), (hex(zeroblob(40000)));`)
	got := try(t, name, "", kvl.Fail)
	says(t, got.err, "table a", "row 2")
	if !errors.Is(got.err, kvl.ErrItem) {
		t.Errorf("%v is no ErrItem", got.err)
	}
}
