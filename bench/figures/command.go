package figures

import (
	"fmt"
	"slices"
	"strings"

	"github.com/remora-kv/remora/bench/out"
	"github.com/remora-kv/remora/bench/perf"
)

// Commands are the command lines that measure what was measured, a row for each
// point: those of points that differ in size or in accesses alone are one.
func (m *Measured) Commands(trials int) []string {
	type group struct{ sizes, accesses []int }
	var order []string
	groups := map[string]*group{}
	for i := range m.Outcomes {
		c := &m.Outcomes[i].Config
		if m.Outcomes[i].median(m.Y) == nil {
			continue
		}
		key := commandLine(c, "SIZES", "ACCESSES", trials)
		g := groups[key]
		if g == nil {
			g = &group{}
			groups[key], order = g, append(order, key)
		}
		g.sizes, g.accesses = merge(g.sizes, c.Sizes), merge(g.accesses, c.Accesses)
	}
	for i, key := range order {
		g := groups[key]
		order[i] = strings.NewReplacer("SIZES", list(g.sizes), "ACCESSES", list(g.accesses)).Replace(key)
	}
	return order
}

// commandLine is `remora bench verbs` with the flags of a configuration.
func commandLine(c *perf.Config, sizes, accesses string, trials int) string {
	args := []string{"remora bench verbs", strings.Join(c.Tests, " "), "--fabric", c.Fabric, "--transport", c.Transport}
	add := func(when bool, words ...any) {
		if when {
			args = append(args, strings.TrimSuffix(fmt.Sprintln(words...), "\n"))
		}
	}
	add(c.ReplyTransport != "", "--reply-transport", c.ReplyTransport)
	add(len(c.Sizes) != 0, "--size", sizes)
	add(len(c.Windows) != 0, "--window", list(c.Windows))
	add(c.Threads != 0, "--threads", c.Threads)
	add(c.Inline == perf.On, "--inline")
	add(c.Inline == perf.Off, "--inline=false")
	add(c.Unsignaled == perf.On, "--unsignaled")
	add(c.Unsignaled == perf.Off, "--unsignaled=false")
	if len(c.Accesses) != 0 {
		add(true, "--accesses", accesses)
		for _, on := range c.Prefetch {
			add(on, "--prefetch on")
			add(!on, "--prefetch off")
		}
		add(true, "--table", strings.ReplaceAll(out.Bytes(c.Table), " ", ""))
	}
	add(true, "--duration", c.Duration)
	add(true, "--warmup", c.Warmup)
	add(true, "--trials", trials)
	return strings.Join(args, " ")
}

// merge adds what is not in the list yet.
func merge(to, from []int) []int {
	for _, n := range from {
		if !slices.Contains(to, n) {
			to = append(to, n)
		}
	}
	return to
}

func list(ns []int) string { return strings.Trim(strings.ReplaceAll(fmt.Sprint(ns), " ", ","), "[]") }
