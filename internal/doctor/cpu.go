package doctor

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

const cpuDir = "sys/devices/system/cpu"

// probeCores counts what the process may run on.
func probeCores(p *patient) {
	cores := p.physical()
	v := map[string]any{"allowed": len(p.CPUs), "cores": cores, "smt": len(p.CPUs) > cores}
	found := fmt.Sprintf("%s allowed, %s", count(len(p.CPUs), "CPU"), count(cores, "physical core"))
	if len(p.CPUs) > cores {
		found += " (SMT)"
	}
	switch {
	case len(p.CPUs) == 0:
		p.warn("cores", "the allowed CPUs cannot be read", "", nil)
	case len(p.CPUs) < 2:
		p.warn("cores", found, "a server and its clients on one CPU yield to each other for every call, which takes several times as long; give the process two or more "+
			"(taskset, cpuset, docker --cpuset-cpus) and keep the adaptive polling policy until then", v)
	case cores < 2:
		p.warn("cores", found, "the CPUs are hyperthreads of one core and share its units; expect less than two cores' work", v)
	default:
		p.ok("cores", found, v)
	}
}

// physical counts the cores that the allowed CPUs belong to; a CPU whose core
// is not told counts as one.
func (p *patient) physical() int {
	cores := map[string]bool{}
	for _, cpu := range p.CPUs {
		dir := path.Join(cpuDir, fmt.Sprintf("cpu%d", cpu), "topology")
		core, ok := p.read(dir + "/core_cpus_list")
		if !ok {
			core, ok = p.read(dir + "/thread_siblings_list")
		}
		if !ok {
			core = strconv.Itoa(cpu)
		}
		cores[core] = true
	}
	return len(cores)
}

// count returns "1 thing" or "n things".
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// probeQuota looks for a limit of CPU time, which stops a thread that spins in
// the middle of its work.
func probeQuota(p *patient) {
	quota, where := cpuLimits.smallest(p.Host)
	if quota == 0 {
		p.ok("cpu quota", "none", nil)
		return
	}
	v := map[string]any{"cpus": quota, "cgroup": where}
	found := fmt.Sprintf("%s CPUs of time (%s)", strconv.FormatFloat(quota, 'g', 3, 64), where)
	if quota >= 2 {
		p.advise("cpu quota", found, "threads that spin use up the quota and are then stopped for the rest of the period; "+
			"leave room beyond the number of server cores", v)
		return
	}
	p.warn("cpu quota", found, "threads that spin use it up and are then stopped for up to 100 ms; raise it to 2 or more "+
		"(docker --cpus, Kubernetes limits.cpu) or keep the adaptive polling policy", v)
}

// probeGovernor looks at frequency scaling.
func probeGovernor(p *patient) {
	governors := map[string]int{}
	for _, cpu := range p.CPUs {
		if g, ok := p.read(path.Join(cpuDir, fmt.Sprintf("cpu%d", cpu), "cpufreq/scaling_governor")); ok && g != "" {
			governors[g]++
		}
	}
	names := sortedKeys(governors)
	found := strings.Join(names, ", ")
	switch {
	case len(names) == 0:
		p.ok("cpu governor", "none (fixed frequency, or controlled by the hypervisor)", nil)
	case found == "performance":
		p.ok("cpu governor", found, map[string]any{"governors": names})
	default:
		p.warn("cpu governor", found, "latencies depend on how busy the CPU was before; for measurements: "+
			"cpupower frequency-set -g performance", map[string]any{"governors": names})
	}
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// probeClock looks at what reading the time costs.
func probeClock(p *patient) {
	const dir = "sys/devices/system/clocksource/clocksource0/"
	source, ok := p.read(dir + "current_clocksource")
	if !ok {
		p.warn("clock", "the clock source cannot be read", "", nil)
		return
	}
	available, _ := p.read(dir + "available_clocksource")
	v := map[string]any{"source": source, "available": strings.Fields(available)}
	switch source {
	case "tsc", "arch_sys_counter", "kvm-clock", "hyperv_clocksource_tsc_page":
		p.ok("clock", source+", read without a system call", v)
		return
	}
	next := "each look at the clock is a system call and slow; latencies of single operations include it"
	if slices.Contains(strings.Fields(available), "tsc") {
		next += "; if the counter is stable: echo tsc > /" + dir + "current_clocksource"
	}
	p.warn("clock", source, next, v)
}
