package load_test

import (
	"cmp"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/remora-kv/remora/kvl"
	"github.com/remora-kv/remora/kvl/load"
	"github.com/remora-kv/remora/test/pgtest"
)

// server is the PostgreSQL server of all tests that need one.
var server pgtest.Server

func TestMain(m *testing.M) {
	code := m.Run()
	if err := server.Stop(); err != nil {
		panic(err)
	}
	os.Exit(code)
}

// figure1 is the university of Figure 1 of the paper, in SQL that both databases
// accept.
const figure1 = `
CREATE TABLE department (id TEXT PRIMARY KEY, name TEXT, tel TEXT, website TEXT);
CREATE TABLE professor (id TEXT PRIMARY KEY, name TEXT, department TEXT REFERENCES department(id));
CREATE TABLE student (id TEXT PRIMARY KEY, name TEXT,
	supervisor TEXT REFERENCES professor(id), mentor TEXT REFERENCES professor(id));
INSERT INTO department VALUES ('depcs', 'XYZ', '123456789', 'www.cs.ac.co');
INSERT INTO professor VALUES ('prof001', 'UVT', 'depcs'), ('prof002', 'IJK', 'depcs');
INSERT INTO student VALUES ('stu001', 'ABY', 'prof001', NULL), ('stu002', 'DEF', 'prof001', 'prof002');`

// wantFigure1 is the expected result of loading it.
const wantFigure1 = `
department/depcs (department) name=XYZ tel=123456789 website=www.cs.ac.co professor.department=[professor/prof001 professor/prof002]
professor/prof001 (professor) department->department/depcs name=UVT student.supervisor=[student/stu001 student/stu002]
professor/prof002 (professor) department->department/depcs name=IJK student.mentor=[student/stu002]
student/stu001 (student) name=ABY supervisor->professor/prof001
student/stu002 (student) mentor->professor/prof002 name=DEF supervisor->professor/prof001
`

// makeSQLite makes a SQLite file and returns its path.
func makeSQLite(t testing.TB, statements string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "test.db")
	execSQLite(t, path, statements)
	return path
}

func execSQLite(t testing.TB, path, statements string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), statements); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// makePostgres makes a database and returns its URL.
func makePostgres(t testing.TB, statements string) string {
	t.Helper()
	name := server.Database(t)
	if err := pgtest.Exec(t.Context(), name, statements); err != nil {
		t.Fatal(err)
	}
	return name
}

// makeFile writes a file and returns its path.
func makeFile(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// loaded is the result of a load.
type loaded struct {
	image  *kvl.Image
	report load.Report
	stats  kvl.Stats
	err    error
}

// try loads a source and seals the Builder.
func try(t testing.TB, name, mapping string, dangling kvl.Dangling) (out loaded) {
	t.Helper()
	src, err := load.Open(name)
	if err != nil {
		return loaded{err: err}
	}
	defer src.Close()
	var m *load.Mapping
	if mapping != "" {
		if m, err = load.ParseMapping("m.json", []byte(mapping)); err != nil {
			return loaded{err: err}
		}
	}
	b, err := kvl.NewBuilder(kvl.Config{Generation: 1, Dangling: dangling})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if out.report, out.err = load.Load(t.Context(), src, m, b, nil); out.err != nil {
		return out
	}
	out.image, out.err = b.Seal(t.Context())
	out.stats = b.Stats()
	if out.image != nil {
		t.Cleanup(func() { _ = out.image.Close() })
	}
	return out
}

// must is try, but fails the test if the load does.
func must(t testing.TB, name, mapping string) loaded {
	t.Helper()
	out := try(t, name, mapping, kvl.Fail)
	if out.err != nil {
		t.Fatal(out.err)
	}
	return out
}

// dump formats an image: a line for each item, by key, attributes by name.
func dump(t testing.TB, m *kvl.Image) string {
	t.Helper()
	var items []string
	for l := range m.Items() {
		it, err := m.Item(l)
		if err != nil {
			t.Fatal(err)
		}
		var attrs []string
		for a := range it.Attrs() {
			attrs = append(attrs, dumpAttr(t, m, a))
		}
		slices.SortFunc(attrs, byKindAndName)
		items = append(items, strings.Join(append([]string{fmt.Sprintf("%s (%s)", it.Key(), m.Schema().Name(it.Type()))}, attrs...), " "))
	}
	slices.Sort(items)
	return "\n" + strings.Join(items, "\n") + "\n"
}

// byKindAndName orders attributes by name, lists last.
func byKindAndName(a, b string) int {
	list := func(s string) int {
		if strings.HasSuffix(s, "]") {
			return 1
		}
		return 0
	}
	return cmp.Or(list(a)-list(b), strings.Compare(a, b))
}

func dumpAttr(t testing.TB, m *kvl.Image, a kvl.Attr) string {
	t.Helper()
	name := m.Schema().Name(a.Name)
	switch a.Kind {
	case kvl.KindLink:
		if a.Link().IsZero() {
			return name + "->nowhere"
		}
		return name + "->" + keyOf(t, m, a.Link())
	case kvl.KindList:
		var keys []string
		for l := range m.Links(a.List()) {
			keys = append(keys, keyOf(t, m, l))
		}
		return name + "=[" + strings.Join(keys, " ") + "]"
	default:
		return name + "=" + string(a.Bytes())
	}
}

func keyOf(t testing.TB, m *kvl.Image, l kvl.Link) string {
	t.Helper()
	it, err := m.Item(l)
	if err != nil {
		t.Fatal(err)
	}
	return string(it.Key())
}

// wants compares the dump of an image with the expected one.
func wants(t testing.TB, got loaded, want string) {
	t.Helper()
	if d := dump(t, got.image); d != want {
		t.Errorf("loaded:%s\nwant:%s", d, want)
	}
}

// says checks that an error contains all words.
func says(t testing.TB, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want one that says %q", words)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q does not say %q", err, w)
		}
	}
}

// both runs a test with a database of each kind.
func both(t *testing.T, statements string, test func(t *testing.T, name string)) {
	t.Run("sqlite", func(t *testing.T) { test(t, makeSQLite(t, statements)) })
	t.Run("postgres", func(t *testing.T) { test(t, makePostgres(t, statements)) })
}
