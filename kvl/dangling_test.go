package kvl_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/remora-kv/remora/kvl"
)

// dangling adds items with links to missing keys: in a link, in a list of an item, by Edge,
// and from an item that does not exist.
func dangling(t *testing.T, policy kvl.Dangling) *kvl.Builder {
	t.Helper()
	b := newBuilder(t, kvl.Config{Generation: 1, Dangling: policy, Inline: 2})
	items := []*modelItem{
		{"t", "a", map[string]any{"link": "gone1", "list": []string{"a", "gone2", "b", "gone3", "a", "b"}, "ok": "b"}},
		{"u", "b", map[string]any{"link": "a", "list": []string{"gone1"}, "ok": ""}},
	}
	for _, it := range items {
		if err := addItem(t, b, it); err != nil {
			t.Fatal(err)
		}
	}
	edges := number(t, b, "edges")
	for _, e := range [][2]string{{"a", "b"}, {"a", "gone4"}, {"a", "a"}, {"gone5", "b"}, {"b", "gone6"}} {
		b.Edge([]byte(e[0]), edges, []byte(e[1]))
	}
	return b
}

var wantDangled = []kvl.Dangled{
	{FromKey: "gone5", Attr: "edges", To: "b"},
	{FromType: "t", FromKey: "a", Attr: "link", To: "gone1"},
	{FromType: "t", FromKey: "a", Attr: "list", To: "gone2"},
	{FromType: "t", FromKey: "a", Attr: "list", To: "gone3"},
	{FromType: "t", FromKey: "a", Attr: "edges", To: "gone4"},
	{FromType: "u", FromKey: "b", Attr: "list", To: "gone1"},
	{FromType: "u", FromKey: "b", Attr: "edges", To: "gone6"},
}

func checkDangled(t *testing.T, s kvl.Stats) {
	t.Helper()
	if s.Dangling != int64(len(wantDangled)) || !reflect.DeepEqual(s.Dangled, wantDangled) {
		t.Errorf("%d dangle: %v,\nwant %v", s.Dangling, s.Dangled, wantDangled)
	}
}

// K3: an image has no dangling links; Stats lists them with type and key.
func TestDanglingFails(t *testing.T) {
	b := dangling(t, kvl.Fail)
	err := sealError(t, b)
	if !errors.Is(err, kvl.ErrDangling) || !strings.Contains(err.Error(), "7") || !strings.Contains(err.Error(), "gone5") {
		t.Errorf("%v, want ErrDangling that says how many and names one", err)
	}
	checkDangled(t, b.Stats())
}

func TestDanglingBecomesNull(t *testing.T) {
	b := dangling(t, kvl.Null)
	image := seal(t, b)
	checkDangled(t, image.Stats())
	m := newModel()
	m.item("t", "a", map[string]any{"link": "", "list": []string{"a", "b", "a", "b"}, "ok": "b", "edges": []string{"b", "a"}})
	m.item("u", "b", map[string]any{"link": "a", "list": []string{}, "ok": "", "edges": []string{}})
	m.check(t, image)
	if s := image.Stats(); s.Links != 8 || s.Nowhere != 2 || s.Lists != 4 || s.Chunks != 1 {
		t.Errorf("stats %+v", s)
	}
}

func TestDanglingIsDropped(t *testing.T) {
	b := dangling(t, kvl.Drop)
	image := seal(t, b)
	checkDangled(t, image.Stats())
	m := newModel()
	m.item("t", "a", map[string]any{"list": []string{"a", "b", "a", "b"}, "ok": "b", "edges": []string{"b", "a"}})
	m.item("u", "b", map[string]any{"link": "a", "list": []string{}, "ok": "", "edges": []string{}})
	m.check(t, image)
}

// All dangling links are counted, and the first ones listed.
func TestManyDangle(t *testing.T) {
	b := newBuilder(t, kvl.Config{Generation: 1, Dangling: kvl.Drop})
	list := number(t, b, "list")
	if err := addItem(t, b, &modelItem{typ: "t", key: "a"}); err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		b.Edge([]byte("a"), list, fmt.Append(nil, "gone", i))
	}
	s := seal(t, b).Stats()
	if s.Dangling != 1000 || len(s.Dangled) != kvl.MaxDangled || s.Dangled[kvl.MaxDangled-1].To != "gone99" || s.Links != 0 {
		t.Errorf("%d dangle, %d are listed, the last is %v", s.Dangling, len(s.Dangled), s.Dangled[len(s.Dangled)-1])
	}
}

func TestDanglingNames(t *testing.T) {
	for _, d := range []kvl.Dangling{kvl.Fail, kvl.Drop, kvl.Null} {
		if got, err := kvl.ParseDangling(d.String()); err != nil || got != d {
			t.Errorf("%v: %v, %v", d, got, err)
		}
	}
	if _, err := kvl.ParseDangling("ignore"); err == nil || !strings.Contains(err.Error(), "drop") {
		t.Errorf("%v, want an error that lists the possible values", err)
	}
}
