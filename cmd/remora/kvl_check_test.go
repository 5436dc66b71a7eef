package main

import (
	"database/sql"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/remora-kv/remora/kvl/load"
)

// tutorial returns what docs/kvl.md has between two texts.
func tutorial(t *testing.T, after, before string) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/kvl.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(page), after)
	text, _, found := strings.Cut(rest, before)
	if !ok || !found {
		t.Fatalf("docs/kvl.md has nothing between %q and %q", after, before)
	}
	return text
}

// universityFile makes the database of the tutorial, and more.
func universityFile(t *testing.T, more string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "university.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), tutorial(t, "<<'END'\n", "END\n")+more); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestKVLCheck(t *testing.T) {
	code, out, errOut := runCmd(t, "kvl", "check", universityFile(t, ""))
	if code != exitOK || errOut != "" {
		t.Fatalf("exit code %d, standard error %q", code, errOut)
	}
	want := tutorial(t, "$ remora kvl check university.db\n", "```")
	if !strings.HasPrefix(out, want) || !strings.Contains(out, "rows/s") {
		t.Errorf("printed\n%s\nthe tutorial says\n%s", out, want)
	}
}

func TestKVLCheckJSON(t *testing.T) {
	code, out, errOut := runCmd(t, "kvl", "check", "--json", universityFile(t, ""))
	var got loadResult
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != exitOK || errOut != "" {
		t.Fatalf("exit code %d, output %q, standard error %q, error %v", code, out, errOut, err)
	}
	if got.Stats.Items != 5 || got.Stats.Links != 10 || got.Report.Rows != 5 || got.Stats.Bytes == 0 || got.RowsPerS <= 0 {
		t.Errorf("%+v", got)
	}
}

// What --show-mapping prints is a mapping, and can be changed.
func TestKVLCheckWithMapping(t *testing.T) {
	db := universityFile(t, "CREATE TABLE x (a INTEGER REFERENCES nowhere)")
	code, out, errOut := runCmd(t, "kvl", "check", db, "--show-mapping")
	if code != exitOK || !strings.Contains(out, `"reverse": "student.supervisor"`) || !strings.Contains(errOut, "note: table x: the foreign key a refers to nowhere") {
		t.Fatalf("exit code %d, output %s, standard error %q", code, out, errOut)
	}
	mapping := filepath.Join(t.TempDir(), "mapping.json")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(mapping, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(strings.ReplaceAll(out, `"student/"`, `""`))
	if code, out, errOut := runCmd(t, "kvl", "check", db, "--mapping", mapping); code != exitOK || !strings.Contains(out, "5 items") {
		t.Errorf("exit code %d, output %s, standard error %q", code, out, errOut)
	}
	write("{\n\"tables\": [{\"table\": \"students\"}]}")
	code, out, errOut = runCmd(t, "kvl", "check", db, "--mapping", mapping)
	if code != exitUsage || out != "" || !strings.Contains(errOut, mapping+`:2: tables[0].table: there is no table "students"`) {
		t.Errorf("exit code %d, output %s, standard error %q", code, out, errOut)
	}
}

func TestKVLCheckDangling(t *testing.T) {
	db := universityFile(t, "INSERT INTO student VALUES ('stu003', 'GHI', 'prof009', NULL)")
	const told = "1 references to missing rows:\n  student student/stu003: supervisor -> professor/prof009\n"
	code, out, errOut := runCmd(t, "kvl", "check", db)
	if code != exitFailure || !strings.Contains(out, told) || !strings.Contains(errOut, "--dangling drop") {
		t.Errorf("exit code %d, output %s, standard error %q", code, out, errOut)
	}
	for policy, nowhere := range map[string]int64{"drop": 0, "null": 1} {
		code, out, _ := runCmd(t, "kvl", "check", db, "--dangling", policy)
		if code != exitOK || !strings.Contains(out, told) {
			t.Errorf("%s: exit code %d, output %s", policy, code, out)
		}
		code, out, _ = runCmd(t, "kvl", "check", db, "--dangling", policy, "--json")
		var got loadResult
		if err := json.Unmarshal([]byte(out), &got); err != nil || code != exitOK {
			t.Fatalf("exit code %d, output %q, error %v", code, out, err)
		}
		if got.Stats.Nowhere != nowhere || len(got.Dangled) != 1 || got.Dangled[0].Key != "student/stu003" {
			t.Errorf("%s: %+v", policy, got)
		}
	}
}

func TestKVLCheckMistakes(t *testing.T) {
	db := universityFile(t, "")
	for _, tc := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"kvl", "check"}, exitUsage, "needs one source"},
		{[]string{"kvl", "check", "a.db", "b.db"}, exitUsage, "needs one source"},
		{[]string{"kvl", "check", "a.xyz"}, exitUsage, "unknown kind of source"},
		{[]string{"kvl", "check", "none.db"}, exitUsage, "no file"},
		{[]string{"kvl", "check", db, "--dangling", "maybe"}, exitUsage, "fail, drop or null"},
		{[]string{"kvl", "check", db, "--mapping", "none.json"}, exitFailure, "none.json"},
		{[]string{"kvl", "check", "sqlite:kvl_check_test.go"}, exitFailure, "not a database"},
	} {
		code, out, errOut := runCmd(t, tc.args...)
		if code != tc.code || out != "" || !strings.Contains(errOut, tc.want) {
			t.Errorf("%v: exit code %d, output %q, standard error %q", tc.args, code, out, errOut)
		}
	}
}

func TestKVLCheckBar(t *testing.T) {
	for _, tc := range []struct {
		p    load.Progress
		want string
	}{
		{load.Progress{Table: "a", Rows: 7}, "a: 7 rows"},
		{load.Progress{Table: "a", Rows: 7, Done: 7, Total: 14}, "[###############...............]  50 % a: 7 rows"},
		{load.Progress{Table: "a", Rows: 7, Done: 17, Total: 14}, "[##############################] 100 % a: 7 rows"},
	} {
		if got := barText(tc.p); got != tc.want {
			t.Errorf("%+v is shown as %q, want %q", tc.p, got, tc.want)
		}
	}
}
