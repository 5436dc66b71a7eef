package gid_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/remora-kv/remora/internal/gid"
)

// port makes the files of a port; each GID is "gid|type|interface".
func port(entries ...string) fstest.MapFS {
	fs := fstest.MapFS{}
	put := func(name, text string) { fs[name] = &fstest.MapFile{Data: []byte(text + "\n")} }
	for i, e := range entries {
		parts := strings.Split(e, "|")
		dir := "sys/class/infiniband/x/ports/1/"
		put(fmt.Sprint(dir, "gids/", i), parts[0])
		if parts[1] != "" {
			put(fmt.Sprint(dir, "gid_attrs/types/", i), parts[1])
		}
		if parts[2] != "" {
			put(fmt.Sprint(dir, "gid_attrs/ndevs/", i), parts[2])
		}
	}
	put("sys/class/net/down0/operstate", "down")
	put("sys/class/net/up0/operstate", "up")
	return fs
}

const (
	empty     = "0000:0000:0000:0000:0000:0000:0000:0000"
	prefix    = "fe80:0000:0000:0000:0000:0000:0000:0000"
	linkLocal = "fe80:0000:0000:0000:0250:56ff:fe00:0001"
	global    = "2001:0db8:0000:0000:0000:0000:0000:0001"
	mapped    = "0000:0000:0000:0000:0000:ffff:0a4d:0001"
)

func TestRank(t *testing.T) {
	for _, c := range []struct {
		layer   string
		entries []string
		want    int
	}{
		{gid.Ethernet, nil, -1},
		{gid.Ethernet, []string{empty + "||", prefix + "||"}, -1},
		{gid.Ethernet, []string{linkLocal + "|IB/RoCE v1|up0", linkLocal + "|RoCE v2|up0"}, 1},
		{gid.Ethernet, []string{mapped + "|IB/RoCE v1|up0", linkLocal + "|RoCE v2|up0"}, 1},
		{gid.Ethernet, []string{linkLocal + "|RoCE v2|up0", global + "|RoCE v2|up0", mapped + "|RoCE v2|up0"}, 2},
		{gid.Ethernet, []string{mapped + "|RoCE v2|down0", linkLocal + "|RoCE v2|up0"}, 1},
		{gid.Ethernet, []string{mapped + "|RoCE v2|up0", mapped + "|RoCE v2|up0"}, 0},
		{gid.Ethernet, []string{mapped + "|RoCE v2|down0", linkLocal + "|RoCE v2|"}, 1},
		{"InfiniBand", []string{linkLocal + "|IB/RoCE v1|", global + "|IB/RoCE v1|"}, 0},
	} {
		got := -1
		if best := gid.Rank(gid.Read(port(c.entries...), "x", "1"), c.layer); best != nil {
			got = best.Index
		}
		if got != c.want {
			t.Errorf("%s %v: takes %d, want %d", c.layer, c.entries, got, c.want)
		}
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]bool{
		mapped: true, linkLocal: true, empty: false, prefix: false, "": false, "zz": false, mapped + ":00": false,
	} {
		if _, ok := gid.Parse(text); ok != want {
			t.Errorf("Parse(%q) is a GID: %v, want %v", text, ok, want)
		}
	}
}

func TestString(t *testing.T) {
	all := gid.Read(port(mapped+"|RoCE v2|up0"), "x", "1")
	if len(all) != 1 || all[0].String() != "RoCE v2, 10.77.0.1, up0" {
		t.Errorf("got %v", all)
	}
}
