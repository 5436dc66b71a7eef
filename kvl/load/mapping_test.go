package load_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/remora-kv/remora/kvl"
	"github.com/remora-kv/remora/kvl/load"
)

// Errors in a mapping name file, line and field.
func TestMappingMistakes(t *testing.T) {
	for _, tc := range []struct{ mapping, want string }{
		{"", "m.json:1: the mapping is truncated"},
		{"{\n\"tables\": [\n", "m.json:3: tables: the mapping is truncated"},
		{"{\n\"tables\" [", "m.json:2: "},
		{"[]", "m.json:1: must be an object"},
		{"{}{}", "m.json:1: unexpected text after the mapping"},
		{"{\n\"table\": 1}", "m.json:2: table: unknown field; use edges, tables"},
		{"{\"tables\": {}}", "m.json:1: tables: must be a list"},
		{"{\"tables\": [{}]}", "m.json:1: tables[0]: does not name its table"},
		{"{\"tables\": [\n{\"table\": 7}]}", "m.json:2: tables[0].table: must be a string"},
		{"{\"tables\": [{\"table\": \"a\"},\n{\"table\": \"b\",\n\"kye\": []}]}", "m.json:3: tables[1].kye: unknown field; use attributes, edge, key"},
		{"{\"tables\": [{\"table\": \"a\",\n\"table\": \"b\"}]}", "m.json:2: tables[0]: \"table\" occurs twice"},
		{"{\"tables\": [{\"table\": \"a\", \"key\": \"id\"}]}", "tables[0].key: must be a list"},
		{"{\"tables\": [{\"table\": \"a\", \"key\": [\n\n3]}]}", "m.json:3: tables[0].key[0]: must be a string"},
		{"{\"tables\": [{\"table\": \"a\", \"attributes\": [\"id\"]}]}", "tables[0].attributes: must be an object"},
		{"{\"tables\": [{\"table\": \"a\", \"attributes\": {\"id\": null}}]}", "tables[0].attributes.id: must be a string"},
		{"{\"tables\": [{\"table\": \"a\", \"key\": [\"x\"], \"edge\": {\"list\": \"l\"}}]}", "tables[0].edge: an edge table has no key"},
		{"{\"tables\": [{\"table\": \"a\", \"edge\": {}}]}", "tables[0].edge: needs list or reverse"},
		{"{\"edges\": {\"header\": 1}}", "edges.header: must be true or false"},
		{"{\"edges\": {\"list\": \"\", \"reverse\": \"\"}}", "edges: needs list or reverse"},
	} {
		_, err := load.ParseMapping("m.json", []byte(tc.mapping))
		var wrong *load.MappingError
		if !errors.As(err, &wrong) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q: error %v, want %q", tc.mapping, err, tc.want)
		}
	}
}

// So do errors that only the database reveals.
func TestMappingThatDoesNotFit(t *testing.T) {
	name := makeSQLite(t, figure1)
	for _, tc := range []struct{ tables, want string }{
		{`{"table": "x"}`, "m.json:2: tables[0].table: there is no table \"x\"; tables are department, professor, student"},
		{"{\"table\": \"student\"},\n{\"table\": \"student\"}", "m.json:3: tables[1].table: \"student\" is mapped twice"},
		{`{"table": "student", "key": ["nam"]}`, "m.json:2: tables[0].key: table \"student\" has no column \"nam\"; columns are id, name"},
		{"{\"table\": \"student\", \"attributes\": {\"name\": \"n\",\n\"id\": \"n\"}}", "m.json:3: tables[0].attributes.id: two attributes have the name \"n\""},
		{`{"table": "student", "attributes": {"name": ""}}`, "tables[0].attributes.name: the attribute has no name"},
		{`{"table": "student", "links": [{"columns": ["mentor"]}]}`, "tables[0].links[0]: does not name the table"},
		{`{"table": "student", "links": [{"table": "student"}]}`, "tables[0].links[0].columns: names no columns"},
		{`{"table": "student", "links": [{"columns": ["mentor"], "table": "professor"}]}`, "tables[0].links[0].table: table \"professor\" is not in the mapping"},
		{`{"table": "student", "links": [{"columns": ["mentor"], "table": "professors"}]}`, "tables[0].links[0].table: there is no table"},
		{`{"table": "student", "links": [{"columns": ["mentor", "name"], "table": "student"}]}`, "tables[0].links[0].columns: 2 columns refer to 1 of \"student\""},
		{`{"table": "student", "links": [{"columns": ["mentor"], "table": "student", "to": ["x"]}]}`, "tables[0].links[0].to: table \"student\" has no column"},
		{`{"table": "student", "links": [{"columns": ["mentor"], "table": "student", "reverse": "name"}]}`, "tables[0].links[0].reverse: items of \"student\" have an attribute \"name\" already"},
		{`{"table": "professor", "edge": {"list": "l", "from": {"columns": ["id"], "table": "professor"}}}`, "tables[0].edge.from.table: \"professor\" is an edge table"},
	} {
		err := try(t, name, "{\"tables\": [\n"+tc.tables+"]}", kvl.Fail).err
		var wrong *load.MappingError
		if !errors.As(err, &wrong) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v, want %q", tc.tables, err, tc.want)
		}
	}
	says(t, try(t, name, `{"edges": {}}`, kvl.Fail).err, "m.json:1: edges:", "edge lists in files")
}

func TestReadMapping(t *testing.T) {
	path := makeFile(t, "my.json", "{\n\"x\": 1}")
	_, err := load.ReadMapping(path)
	says(t, err, path+":2: x: unknown field")
	_, err = load.ReadMapping(filepath.Join(t.TempDir(), "none.json"))
	says(t, err, "none.json", "no such file")
}

// A written mapping is read as the same, even if it omits much.
func TestMappingIsReadAsItIsWritten(t *testing.T) {
	for _, text := range []string{
		`{}`, `{"tables": []}`,
		`{"tables": [{"table": "a", "prefix": "", "key": ["b"], "attributes": {"z": "d", "c": "<&>"}, "links": [{"columns": ["e"], "table": "a", "reverse": ""}]}]}`,
		`{"tables": [{"table": "a", "key": [], "attributes": {}, "links": []}]}`,
		`{"tables": [{"table": "a", "links": [{}]}, {"table": "ü", "edge": {"from": {}, "list": "b"}}]}`,
		`{"edges": {"type": "user", "list": "follows", "reverse": "", "header": true}}`,
	} {
		m, err := load.ParseMapping("", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		again, err := load.ParseMapping("", m.JSON())
		if err != nil {
			t.Fatalf("a written mapping cannot be read: %v\n%s", err, m.JSON())
		}
		if string(again.JSON()) != string(m.JSON()) {
			t.Errorf("written\n%s\nread and written again\n%s", m.JSON(), again.JSON())
		}
	}
}
