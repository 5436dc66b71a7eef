package rocevm

import (
	"slices"
	"strings"
	"testing"
)

const sampleDep = `kernel/drivers/infiniband/sw/rxe/rdma_rxe.ko: kernel/drivers/infiniband/core/ib_uverbs.ko kernel/net/ipv4/udp_tunnel.ko
kernel/drivers/infiniband/core/ib_uverbs.ko: kernel/drivers/infiniband/core/ib_core.ko
kernel/drivers/infiniband/core/ib_core.ko:
kernel/net/ipv4/udp_tunnel.ko:

# a comment
kernel/crypto/crc32-generic.ko.xz:
kernel/a/loop1.ko: kernel/a/loop2.ko
kernel/a/loop2.ko: kernel/a/loop1.ko
`

func TestModuleClosure(t *testing.T) {
	deps, err := parseModulesDep(strings.NewReader(sampleDep))
	if err != nil {
		t.Fatal(err)
	}
	builtin := parseBuiltin("kernel/net/unix.ko\nkernel/lib/crc-t10dif.ko\n")
	for _, test := range []struct {
		names string
		want  string
	}{
		{"ib_core", "kernel/drivers/infiniband/core/ib_core.ko"},
		{"rdma_rxe", "kernel/drivers/infiniband/core/ib_core.ko kernel/drivers/infiniband/core/ib_uverbs.ko kernel/drivers/infiniband/sw/rxe/rdma_rxe.ko kernel/net/ipv4/udp_tunnel.ko"},
		{"crc32_generic", "kernel/crypto/crc32-generic.ko.xz"},
		{"unix crc_t10dif", ""},
		{"loop1", "kernel/a/loop1.ko kernel/a/loop2.ko"},
	} {
		got, err := deps.closure(strings.Fields(test.names), builtin)
		if err != nil {
			t.Errorf("%s: %v", test.names, err)
		}
		if !slices.Equal(got, strings.Fields(test.want)) {
			t.Errorf("%s needs %v, want %s", test.names, got, test.want)
		}
	}
}

func TestModuleClosureNamesWhatIsMissing(t *testing.T) {
	deps, err := parseModulesDep(strings.NewReader(sampleDep))
	if err != nil {
		t.Fatal(err)
	}
	_, err = deps.closure([]string{"rdma_rxe", "sch_netem", "veth"}, nil)
	if err == nil || !strings.Contains(err.Error(), "sch_netem, veth") {
		t.Errorf("got %v, want both missing modules named", err)
	}
}

func TestParseModulesDepErrors(t *testing.T) {
	if _, err := parseModulesDep(strings.NewReader("kernel/a.ko\n")); err == nil || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("a line without a colon: %v", err)
	}
}
