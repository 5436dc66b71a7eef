package load_test

import (
	"strings"
	"testing"

	"github.com/remora-kv/remora/kvl"
	"github.com/remora-kv/remora/kvl/load"
)

func TestJSONLines(t *testing.T) {
	long := strings.Repeat("x", 3<<20)
	got := must(t, makeFile(t, "x.jsonl", `{"key": "stu002", "type": "student", "values": {"name": "DEF", "n": 1.50, "o": {"a": [1, 2]}, "yes": true, "no": null}, "base64": {"photo": "AP8="}, "links": {"supervisor": "prof001", "mentor": null}, "lists": {"friends": ["stu002", "prof001"], "none": []}}

{"key": "prof001"}
{"key": "long", "values": {"v": "`+long+`"}}`), "")
	wants(t, got, `
long () v=`+long+`
prof001 ()
stu002 (student) n=1.50 name=DEF o={"a":[1,2]} photo=`+"\x00\xff"+` supervisor->prof001 yes=true friends=[stu002 prof001] none=[]
`)
	if r := got.report; r.Rows != 3 || r.Links != 3 {
		t.Errorf("report %+v", r)
	}
}

func TestJSONLinesMistakes(t *testing.T) {
	for line, want := range map[string]string{
		`{"key": ""}`:                               `line 2: the item has no "key"`,
		`{"type": "x"}`:                             `line 2: the item has no "key"`,
		`{"key": "x"`:                               "line 2: unexpected EOF",
		`{"key": "x", "vals": {}}`:                  `line 2: json: unknown field "vals"`,
		`{"key": "x"} {}`:                           "line 2: unexpected text after the item",
		`{"key": "x", "values": []}`:                "line 2: must be an object",
		`{"key": "x", "links": {"a": 7}}`:           "line 2: links.a: a link must be the key",
		`{"key": "x", "lists": {"a": "b"}}`:         "line 2: lists.a: a list must be keys",
		`{"key": "x", "base64": {"a": "!"}}`:        "line 2: base64.a: illegal base64",
		`{"key": "x", "values": {"a": 1, "a": 2}}`:  "line 2: kvl: item refused",
		`{"key": "x", "links": {"a": "not there"}}`: "not there",
	} {
		says(t, try(t, makeFile(t, "x.ndjson", "{\"key\": \"y\"}\n"+line+"\n"), "", kvl.Fail).err, want)
	}
	says(t, try(t, makeFile(t, "x.jsonl", ""), "{}", kvl.Fail).err, "need no mapping")
}

func TestEdgeLists(t *testing.T) {
	const want = `
1 (node) to=[2 3] from=[3]
2 (node) from=[1]
3 (node) to=[1] from=[1]
`
	for _, text := range []string{
		"1,2\n1,3\n3,1\n", "1\t2\n1\t3\t0.5\n\n3\t1", "# nodes: 3\r\n1 2\r\n1   3\r\n3 1\r\n", "1;2\n1;3\n3;1", "\"1\",2\n1,\"3\",\"and more\"\n3,1\n",
	} {
		got := must(t, makeFile(t, "x.csv", text), "")
		if d := sortedLists(dump(t, got.image)); d != sortedLists(want) {
			t.Errorf("%q is loaded as %s", text, d)
		}
		if r := got.report; r.Rows != 3 || r.Links != 3 || r.Reverse != 3 {
			t.Errorf("report %+v", r)
		}
	}
}

// sortedLists sorts both lists of an item.
func sortedLists(s string) string {
	return strings.NewReplacer("to=[2 3] from=[3]", "from=[3] to=[2 3]", "to=[1] from=[1]", "from=[1] to=[1]").Replace(s)
}

func TestEdgeListMapping(t *testing.T) {
	got := must(t, makeFile(t, "x.edges", "who whom\na b\n"),
		`{"edges": {"type": "user", "prefix": "u:", "list": "follows", "reverse": "", "header": true}}`)
	wants(t, got, "\nu:a (user) follows=[u:b]\nu:b (user)\n")
	says(t, try(t, makeFile(t, "x.csv", "a,b"), `{"tables": [{"table": "a"}]}`, kvl.Fail).err, "m.json:1: tables:", "edges")
	src, err := load.Open(makeFile(t, "y.csv", "a,b"))
	if err != nil {
		t.Fatal(err)
	}
	m, _, err := src.Mapping(t.Context(), nil)
	if err != nil || !strings.Contains(string(m.JSON()), `"list": "to"`) {
		t.Errorf("mapping %s, error %v", m.JSON(), err)
	}
}

func TestEdgeListMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"1,2\n3\n":     "line 2: not an edge",
		"1\n":          "line 1: not an edge",
		"#\n1,2\n,3\n": "line 3: not an edge",
		"1,2\n\"3,4\n": "line 2: not an edge",
	} {
		says(t, try(t, makeFile(t, "x.tsv", text), "", kvl.Fail).err, want)
	}
}
