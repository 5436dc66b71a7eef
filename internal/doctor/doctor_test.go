package doctor_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/remora-kv/remora/internal/doctor"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

func works() error            { return nil }
func worksAt(string) error    { return nil }
func refuses(string) error    { return fs.ErrPermission }
func noEnv(string) string     { return "" }
func cpus(n int) (list []int) { return slices.AppendSeq(list, seq(n)) }

func seq(n int) func(func(int) bool) {
	return func(yield func(int) bool) {
		for i := 0; i < n && yield(i); i++ {
		}
	}
}

// healthy is a Linux host on which everything that is tried works, with the
// files given.
func healthy(files map[string]string) *doctor.Host {
	return &doctor.Host{
		FS: tree(files), OS: "linux", Arch: "amd64", CPUs: cpus(2), Memlock: 8 << 20, Getenv: noEnv,
		TryMemfd: works, TryTCP: works, TryUDP: works, TryUnix: worksAt, TryOpen: worksAt,
	}
}

func tree(files map[string]string) fs.FS {
	out := fstest.MapFS{}
	for name, text := range files {
		out[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return out
}

// both merges file trees.
func both(trees ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, t := range trees {
		for name, text := range t {
			out[name] = text
		}
	}
	return out
}

var linux6 = map[string]string{
	"proc/sys/kernel/osrelease":                                         "6.1.0-18-amd64\n",
	"proc/self/status":                                                  "Name:\tremora\nCapEff:\t0000000000000000\n",
	"proc/meminfo":                                                      "MemTotal: 16384000 kB\nHugePages_Total:     512\nHugePages_Free:      500\nHugepagesize:       2048 kB\n",
	"sys/kernel/mm/transparent_hugepage/enabled":                        "always [madvise] never\n",
	"sys/kernel/mm/transparent_hugepage/shmem_enabled":                  "always within_size advise [never] deny force\n",
	"sys/devices/system/clocksource/clocksource0/current_clocksource":   "tsc\n",
	"sys/devices/system/clocksource/clocksource0/available_clocksource": "tsc hpet acpi_pm\n",
	"proc/self/cgroup":                                                  "0::/system.slice/remora.service\n",
	"sys/fs/cgroup/system.slice/remora.service/cpu.max":                 "max 100000\n",
	"sys/devices/system/cpu/cpu0/topology/core_cpus_list":               "0,2\n",
	"sys/devices/system/cpu/cpu1/topology/core_cpus_list":               "1,3\n",
	"sys/devices/system/cpu/cpu2/topology/core_cpus_list":               "0,2\n",
	"sys/devices/system/cpu/cpu3/topology/core_cpus_list":               "1,3\n",
	"sys/devices/system/cpu/cpu0/cpufreq/scaling_governor":              "performance\n",
	"sys/devices/system/cpu/cpu1/cpufreq/scaling_governor":              "performance\n",
	"sys/devices/system/cpu/cpu2/cpufreq/scaling_governor":              "performance\n",
	"sys/devices/system/cpu/cpu3/cpufreq/scaling_governor":              "performance\n",
	"usr/lib/x86_64-linux-gnu/libc.so.6":                                "",
	"lib/modules/6.1.0-18-amd64/modules.builtin":                        "kernel/fs/ext4/ext4.ko\n",
	"lib/modules/6.1.0-18-amd64/modules.dep":                            "kernel/fs/xfs/xfs.ko:\n",
}

var libraries = map[string]string{
	"etc/ld.so.cache": "glibc-ld.so.cache1.1\x00libibverbs.so.1\x00/usr/lib/x86_64-linux-gnu/libibverbs.so.1\x00" +
		"libgone.so\x00/usr/lib/libgone.so\x00",
	"usr/lib/x86_64-linux-gnu/libibverbs.so.1": "",
	"usr/lib/x86_64-linux-gnu/librdmacm.so.1":  "",
	"etc/libibverbs.d/mlx5.driver":             "driver mlx5\n",
	"etc/libibverbs.d/rxe.driver":              "driver rxe\n",
}

// port makes the files of a port; gids are "gid|type|interface".
func port(dev, n, state, layer string, gids ...string) map[string]string {
	dir := "sys/class/infiniband/" + dev + "/"
	out := map[string]string{dir + "fw_ver": "16.35.2000\n"}
	dir += "ports/" + n + "/"
	out[dir+"state"] = state + "\n"
	out[dir+"link_layer"] = layer + "\n"
	out[dir+"rate"] = "100 Gb/sec (4X EDR)\n"
	for i, g := range gids {
		parts := strings.Split(g, "|")
		out[fmt.Sprint(dir, "gids/", i)] = parts[0] + "\n"
		if len(parts) == 3 {
			out[fmt.Sprint(dir, "gid_attrs/types/", i)] = parts[1] + "\n"
			out[fmt.Sprint(dir, "gid_attrs/ndevs/", i)] = parts[2] + "\n"
		}
	}
	return out
}

// slot makes the files of the slot of a device. Express is the capability behind another one, as it is on
// adapters; its device control register allows relaxed ordering, or not.
func slot(dev string, relaxed bool, width string) map[string]string {
	config := make([]byte, 256)
	config[0x06], config[0x34] = 0x10, 0x40 // there are capabilities, the first at 0x40
	config[0x40], config[0x41] = 0x01, 0x60 // power management, then Express
	config[0x60], config[0x68], config[0x69] = 0x10, 0x2f, 0x29
	if relaxed {
		config[0x68] |= 0x10
	}
	dir := "sys/class/infiniband/" + dev + "/device/"
	return map[string]string{
		dir + "config":             string(config),
		dir + "current_link_speed": "16.0 GT/s PCIe\n", dir + "current_link_width": width + "\n",
		dir + "max_link_speed": "16.0 GT/s PCIe\n", dir + "max_link_width": "16\n",
	}
}

// partitions makes the files of the partition keys of port 1.
func partitions(dev string, keys ...string) map[string]string {
	out := map[string]string{}
	for i, key := range keys {
		out[fmt.Sprint("sys/class/infiniband/", dev, "/ports/1/pkeys/", i)] = key + "\n"
	}
	return out
}

const (
	linkLocal = "fe80:0000:0000:0000:0e42:a1ff:fe00:1234"
	ipv4      = "0000:0000:0000:0000:0000:ffff:0a00:0005"
	otherIPv4 = "0000:0000:0000:0000:0000:ffff:c0a8:0105"
	ipv6      = "2001:0db8:0000:0000:0000:0000:0000:0005"
	noGID     = "0000:0000:0000:0000:0000:0000:0000:0000"
	emptyIB   = "fe80:0000:0000:0000:0000:0000:0000:0000"
)

var modules = map[string]string{
	"proc/modules": "mlx5_ib 466944 0 - Live 0x0\nrdma_ucm 32768 0 - Live 0x0\nib_uverbs 184320 2 mlx5_ib,rdma_ucm, Live 0x0\n",
}

var nodes = map[string]string{"dev/infiniband/uverbs0": "", "dev/infiniband/rdma_cm": "", "dev/infiniband/umad0": ""}

// hosts are the machines of the golden files.
func hosts() map[string]*doctor.Host {
	roce := healthy(both(linux6, libraries, modules, nodes,
		port("mlx5_0", "1", "4: ACTIVE", "Ethernet",
			linkLocal+"|IB/RoCE v1|eth0", linkLocal+"|RoCE v2|eth0", ipv4+"|IB/RoCE v1|eth0", ipv4+"|RoCE v2|eth0",
			otherIPv4+"|RoCE v2|eth1", ipv6+"|RoCE v2|eth0", noGID),
		port("mlx5_1", "1", "1: DOWN", "Ethernet", linkLocal+"|RoCE v2|eth2"),
		slot("mlx5_0", true, "8"), partitions("mlx5_0", "0xffff"), slot("mlx5_1", false, "16"),
		map[string]string{
			"sys/class/net/eth0/operstate": "up\n", "sys/class/net/eth1/operstate": "up\n", "sys/class/net/eth0/mtu": "1500\n",
			"sys/class/net/eth0/qos/trust": "dscp\n", "sys/class/net/eth0/qos/pfc": "0,0,0,1,0,0,0,0\n",
			"sys/class/infiniband/mlx5_0/tc/1/traffic_class":                  "Global tclass=106\n",
			"sys/class/infiniband/mlx5_0/ports/1/hw_counters/out_of_sequence": "17\n",
			"sys/class/infiniband/mlx5_0/ports/1/hw_counters/packet_seq_err":  "0\n",
			"sys/kernel/config/rdma_cm/mlx5_0/ports/1/default_roce_tos":       "104\n",
			"sys/class/infiniband/mlx5_1/device/physfn/config":                slot("x", true, "")["sys/class/infiniband/x/device/config"],
		}))
	roce.Verbs, roce.CPUs, roce.Memlock = true, cpus(4), doctor.Unlimited
	roce.TryDevice = func(string, int) (doctor.Limits, error) {
		return doctor.Limits{
			Inline: 512, Segments: 8, Depth: 4096, CQDepth: 4194304, Message: 1 << 30, MTU: 4096,
			Reads: 16, Region: 1 << 40, UC: true, UD: true, Atomics: true,
		}, nil
	}

	ib := healthy(both(linux6, libraries, modules, nodes, port("mlx5_0", "1", "4: ACTIVE", "InfiniBand", linkLocal, emptyIB),
		port("mlx5_0", "2", "2: INIT", "InfiniBand", linkLocal), partitions("mlx5_0", "0x7fff", "0x8001", "0x0000"),
		map[string]string{"sys/class/infiniband/mlx5_0/device/config": slot("x", true, "")["sys/class/infiniband/x/device/config"][:64]}))
	ib.TryOpen = refuses
	ib.Verbs = true
	ib.TryDevice = func(string, int) (doctor.Limits, error) {
		return doctor.Limits{}, errors.New("fabric: verbs: device mlx5_0: permission denied")
	}

	pod := healthy(both(linux6, map[string]string{
		"proc/self/cgroup":                                     "0::/\n",
		"sys/fs/cgroup/cpu.max":                                "150000 100000\n",
		"sys/fs/cgroup/memory.max":                             "2147483648\n",
		"proc/1/cgroup":                                        "0::/kubepods/pod1\n",
		"sys/kernel/mm/transparent_hugepage/enabled":           "always madvise [never]\n",
		"proc/meminfo":                                         "HugePages_Total: 0\nHugePages_Free: 0\nHugepagesize: 2048 kB\n",
		"sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave\n",
	}))
	pod.CPUs = cpus(1)

	rxe := healthy(both(linux6, libraries, map[string]string{
		"lib/modules/6.1.0-18-amd64/modules.dep": "kernel/drivers/infiniband/core/ib_uverbs.ko:\nkernel/drivers/infiniband/core/rdma_ucm.ko:\n" +
			"kernel/drivers/infiniband/sw/rxe/rdma_rxe.ko:\n",
		"proc/self/status": "CapEff:\t000001ffffffffff\n",
		"sys/devices/system/clocksource/clocksource0/current_clocksource": "hpet\n",
	}))
	rxe.Verbs = true

	ancient := &doctor.Host{
		FS: tree(map[string]string{"proc/sys/kernel/osrelease": "4.19.0\n"}), OS: "linux", Arch: "arm64", Getenv: noEnv,
		TryMemfd: func() error { return errors.New("F_ADD_SEALS: invalid argument") }, TryTCP: func() error { return errors.New("cannot assign requested address") },
		TryUDP: func() error { return errors.New("cannot assign requested address") }, TryUnix: refuses, TryOpen: refuses,
	}

	v1 := healthy(both(linux6, map[string]string{
		"proc/meminfo": "MemTotal:       24539028 kB\nMemFree: 1 kB\n",
		"sys/fs/cgroup/memory/memory.limit_in_bytes":   "9223372036854771712\n",
		"sys/fs/cgroup/memory/x/memory.limit_in_bytes": "3221225472\n",
		"proc/self/cgroup": "4:memory:/x\n3:cpu,cpuacct:/docker/abc\n0::/\n",
		"sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_quota_us":  "400000\n",
		"sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_period_us": "100000\n",
		".dockerenv": "",
	}))
	v1.TryUDP = func() error { return errors.New("operation not permitted") }
	v1.Getenv = func(k string) string { return map[string]string{"XDG_RUNTIME_DIR": "/run/user/7"}[k] }

	return map[string]*doctor.Host{"roce": roce, "infiniband": ib, "pod": pod, "modules": rxe, "ancient": ancient, "docker": v1}
}

// TestGolden compares the reports on made-up machines with files; go test
// -rewrite writes them anew.
func TestGolden(t *testing.T) {
	for name, h := range hosts() {
		t.Run(name, func(t *testing.T) {
			r := doctor.Examine(h)
			var text, lines bytes.Buffer
			if err := errors.Join(r.WriteText(&text), r.WriteJSON(&lines)); err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&text, "\nexit %d\n", r.ExitCode())
			golden(t, name+".txt", text.Bytes())
			golden(t, name+".jsonl", lines.Bytes())
		})
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *rewrite {
		if err := errors.Join(os.MkdirAll("testdata", 0o777), os.WriteFile(file, got, 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; go test -rewrite writes it anew. Got:\n%s", file, got)
	}
}

// TestVerdicts: exit codes and usable fabrics of the made-up machines.
func TestVerdicts(t *testing.T) {
	for name, want := range map[string]struct {
		usable string
		exit   int
	}{
		"roce":       {"loop shm tcp verbs", 0},
		"infiniband": {"loop shm tcp", 0},
		"pod":        {"loop shm tcp", 0},
		"modules":    {"loop shm tcp", 0},
		"docker":     {"loop shm tcp", 0},
		"ancient":    {"loop", 1},
	} {
		r := doctor.Examine(hosts()[name])
		var usable []string
		for _, v := range r.Verdicts {
			if v.Usable {
				usable = append(usable, v.Fabric)
			} else if len(v.Reasons) == 0 || v.Mark != doctor.No {
				t.Errorf("%s: %s is not usable without a reason", name, v.Fabric)
			}
		}
		if got := strings.Join(usable, " "); got != want.usable || r.ExitCode() != want.exit {
			t.Errorf("%s: usable are %s, exit %d; want %s, %d", name, got, r.ExitCode(), want.usable, want.exit)
		}
	}
}

// TestGIDs: which GID is taken.
func TestGIDs(t *testing.T) {
	down := map[string]string{"sys/class/net/eth0/operstate": "down\n"}
	for _, c := range []struct {
		layer string
		gids  []string
		extra map[string]string
		want  any
	}{
		{"Ethernet", []string{linkLocal + "|IB/RoCE v1|eth0", linkLocal + "|RoCE v2|eth0"}, nil, 1},
		{"Ethernet", []string{ipv4 + "|IB/RoCE v1|eth0", linkLocal + "|RoCE v2|eth0"}, nil, 1},
		{"Ethernet", []string{linkLocal + "|RoCE v2|eth0", ipv6 + "|RoCE v2|eth0", ipv4 + "|RoCE v2|eth0"}, nil, 2},
		{"Ethernet", []string{noGID, ipv6 + "|RoCE v2|eth0", ipv6 + "|RoCE v2|eth1"}, nil, 1},
		{"Ethernet", []string{ipv4 + "|RoCE v2|eth0", ipv6 + "|RoCE v2|eth1"}, down, 1},
		{"Ethernet", []string{ipv4 + "|IB/RoCE v1|eth0"}, nil, 0},
		{"InfiniBand", []string{linkLocal, ipv6}, nil, 0},
		{"Ethernet", []string{noGID, "rubbish"}, nil, nil},
	} {
		r := doctor.Examine(healthy(both(linux6, port("x", "1", "4: ACTIVE", c.layer, c.gids...), c.extra)))
		i := slices.IndexFunc(r.Findings, func(f doctor.Finding) bool { return f.Probe == "rdma port x/1" })
		if got := r.Findings[i].Values["gid"]; got != c.want {
			t.Errorf("%v: takes GID %v, want %v (%s)", c.gids, got, c.want, r.Findings[i].Found)
		}
	}
}

// TestThisHost runs on the machine at hand: whatever it is, every probe has an
// answer, and every "no" says what to do.
func TestThisHost(t *testing.T) {
	r := doctor.Examine(doctor.ThisHost())
	if r.ExitCode() != 0 {
		t.Error("neither shm nor tcp works here, and the tests of this project need them")
	}
	for _, f := range r.Findings {
		if f.Found == "" || (f.Mark == doctor.No && f.Next == "") {
			t.Errorf("%+v says too little", f)
		}
	}
	var text, lines bytes.Buffer
	if err := errors.Join(r.WriteText(&text), r.WriteJSON(&lines)); err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%s", &text)
	n := 0
	for s := bufio.NewScanner(&lines); s.Scan(); n++ {
		var v map[string]any
		if err := json.Unmarshal(s.Bytes(), &v); err != nil {
			t.Errorf("%s: %v", s.Text(), err)
		}
	}
	if n != len(r.Findings)+len(r.Verdicts) {
		t.Errorf("%d lines for %d findings and %d verdicts", n, len(r.Findings), len(r.Verdicts))
	}
	dir := t.TempDir()
	if err := doctor.ThisHost().TryUnix(dir); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestOtherSystem: without Linux there is still an answer.
func TestOtherSystem(t *testing.T) {
	h := healthy(nil)
	h.OS = "darwin"
	h.TryMemfd = func() error { return errors.New("memory files need Linux") }
	r := doctor.Examine(h)
	if r.ExitCode() != 0 || r.Findings[0].Mark != doctor.Warn {
		t.Errorf("exit %d, %+v", r.ExitCode(), r.Findings[0])
	}
}

// TestRelaxedOrdering: the bit of the slot is found behind other capabilities, and a space that ends in the middle or
// has a list without an end is not read beyond.
func TestRelaxedOrdering(t *testing.T) {
	whole := slot("x", true, "16")
	config := whole["sys/class/infiniband/x/device/config"]
	loop := []byte(config)
	loop[0x60], loop[0x61] = 0x01, 0x40
	for _, c := range []struct {
		config string
		want   any
	}{
		{config, true},
		{slot("x", false, "16")["sys/class/infiniband/x/device/config"], false},
		{string(loop), nil},
		{config[:0x69], nil},
		{config[:64], nil},
		{"", nil},
	} {
		files := both(linux6, port("x", "1", "4: ACTIVE", "InfiniBand", ipv6), whole,
			map[string]string{"sys/class/infiniband/x/device/config": c.config})
		r := doctor.Examine(healthy(files))
		i := slices.IndexFunc(r.Findings, func(f doctor.Finding) bool { return f.Probe == "rdma pci x" })
		if got := r.Findings[i].Values["relaxed_ordering"]; got != c.want {
			t.Errorf("a space of %d bytes: relaxed ordering %v, want %v (%s)", len(c.config), got, c.want, r.Findings[i].Found)
		}
	}
}

// TestActiveMTU: an adapter that uses less of the frames of its interface than it could is shown.
func TestActiveMTU(t *testing.T) {
	for netdev, want := range map[string]doctor.Mark{"1500": doctor.OK, "9000": doctor.Warn} {
		h := healthy(both(linux6, libraries, modules, nodes, port("x", "1", "4: ACTIVE", "Ethernet", ipv4+"|RoCE v2|eth0"),
			map[string]string{"sys/class/net/eth0/mtu": netdev + "\n"}))
		h.Verbs = true
		h.TryDevice = func(string, int) (doctor.Limits, error) { return doctor.Limits{MTU: 1024}, nil }
		r := doctor.Examine(h)
		i := slices.IndexFunc(r.Findings, func(f doctor.Finding) bool { return f.Probe == "rdma device x" })
		if f := r.Findings[i]; f.Mark != want || (want == doctor.Warn) != strings.Contains(f.Next, "1024") {
			t.Errorf("interface MTU %s: %v, %q; want %v", netdev, f.Mark, f.Next, want)
		}
	}
}
