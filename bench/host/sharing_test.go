package host

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

func sharing(t *testing.T, text string) Sharing {
	t.Helper()
	s, err := ParseSharing(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestParseSharing(t *testing.T) {
	for _, text := range Sharings() {
		s := sharing(t, text)
		if s.String() != text || s.Own() != (text == "own") {
			t.Errorf("%q became %v, own: %v", text, s, s.Own())
		}
	}
	if s := sharing(t, "quota-client=07"); s.String() != "quota-client=7%" {
		t.Errorf("a quota became %v", s)
	}
	for text, want := range map[string]string{
		"": "use own, one, busy-client", "Own": "unknown", "busy": "unknown", "one=1": "unknown", "quota": "write quota=50%",
		"quota=0%": "write quota=50%", "quota-server=half": "write quota-server=50%", "quota=10001%": "to 10000%", "quota-both=5%": "quota-server=50%",
	} {
		if s, err := ParseSharing(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q became %v, %v", text, s, err)
		}
	}
}

// What each placement does with four CPUs, two client threads and one core.
func TestPlace(t *testing.T) {
	for text, want := range map[string]struct {
		client, server, process []int
		neighbours              [][]int
	}{
		"own":         {client: []int{0, 1, 2}, server: []int{3}},
		"one":         {client: []int{3}, server: []int{3}, process: []int{3}},
		"busy-client": {client: []int{0, 1, 2}, server: []int{3}, process: []int{3}, neighbours: [][]int{{0}, {1}, {2}}},
		"busy-server": {client: []int{0, 1, 2}, server: []int{3}, process: []int{3}, neighbours: [][]int{{3}}},
		"busy-both":   {client: []int{0, 1, 2}, server: []int{3}, process: []int{3}, neighbours: [][]int{{0}, {1}, {2}, {3}}},
		"roaming":     {neighbours: [][]int{nil}},
		"quota=40%":   {client: []int{0, 1, 2}, server: []int{3}},
	} {
		p := sharing(t, text).Place([]int{0, 1, 2, 3}, 2, 1)
		if !slices.Equal(p.Client, want.client) || !slices.Equal(p.Server, want.server) || !slices.Equal(p.Process(), want.process) ||
			!reflect.DeepEqual(p.neighbours(), want.neighbours) || p.Warning != "" || p.Sharing.String() != text {
			t.Errorf("%s: %+v, process on %v, neighbours on %v", text, p, p.Process(), p.neighbours())
		}
		if alone := text == "own" || text == "one"; (p.Company() == "") != alone {
			t.Errorf("%s: its company is %q", text, p.Company())
		}
	}
}

func TestQuotas(t *testing.T) {
	for text, want := range map[string][2]int{"quota=40%": {40, 40}, "quota-client=30%": {30, 0}, "quota-server=250%": {0, 250}, "one": {}} {
		if client, server := sharing(t, text).Quotas(); client != want[0] || server != want[1] {
			t.Errorf("%s: %d and %d %%, want %v", text, client, server, want)
		}
	}
}

// A CPU that client and server share has one neighbour, and sharing it on purpose is no fault.
func TestPlaceOnOneCPU(t *testing.T) {
	p := sharing(t, "busy-both").Place([]int{5}, 1, 2)
	if n := p.neighbours(); len(n) != 1 || p.Warning == "" {
		t.Errorf("%d neighbours, warning %q", len(n), p.Warning)
	}
	p = sharing(t, "one").Place([]int{5}, 3, 2)
	if !slices.Equal(p.Server, []int{5, 5}) || p.Warning != "" {
		t.Errorf("%+v", p)
	}
	if p := sharing(t, "busy-client").Place(nil, 1, 1); p.Warning != Unpinned {
		t.Errorf("without affinity: %+v", p)
	}
}
