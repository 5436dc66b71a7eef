package cache

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/load"
)

// The workloads with a name: those of YCSB (Cooper et al., Benchmarking Cloud Serving
// Systems with YCSB, SoCC 2010, table 2, and F of the program).
const (
	YCSBA = "ycsb-a" // update heavy
	YCSBB = "ycsb-b" // read mostly
	YCSBC = "ycsb-c" // read only
	YCSBD = "ycsb-d" // read latest
	YCSBF = "ycsb-f" // read-modify-write
	ycsbE = "ycsb-e" // short ranges, which there are not
)

// Workloads returns the names of all workloads.
func Workloads() []string { return []string{YCSBA, YCSBB, YCSBC, YCSBD, YCSBF} }

// recipe is what a workload is made of. Sizes and the number of keys are no part of it.
type recipe struct {
	gets, modifies float64 // percentages
	dist           string
}

// recipeOf returns that of a workload; that of none is what bench does by itself.
func recipeOf(name string) recipe {
	switch name {
	case YCSBA:
		return recipe{gets: 50, dist: DistZipf}
	case YCSBB:
		return recipe{gets: 95, dist: DistZipf}
	case YCSBC:
		return recipe{gets: 100, dist: DistZipf}
	case YCSBD:
		return recipe{gets: 95, dist: DistLatest}
	case YCSBF:
		return recipe{gets: 50, modifies: 50, dist: DistZipf}
	}
	return recipe{gets: DefaultGetPct, dist: DistUniform}
}

// mixes makes a case of every workload, and of every percentage and distribution: those of
// the workload, unless they were given.
func (c *Config) mixes(cases []Case) []Case {
	names := c.Workloads
	bench.OrDefault(&names, "")
	cases = multiply(cases, names, func(k *Case, v string) { k.Workload = v })
	var out []Case
	for i := range cases {
		r := recipeOf(cases[i].Workload)
		gets, modifies, dists := c.GetPcts, c.RMWPcts, c.Dists
		bench.OrDefault(&gets, r.gets)
		bench.OrDefault(&modifies, r.modifies)
		bench.OrDefault(&dists, r.dist)
		one := multiply(cases[i:i+1], gets, func(k *Case, v float64) { k.GetPct = v })
		one = multiply(one, modifies, func(k *Case, v float64) { k.RMWPct = v })
		out = append(out, multiply(one, dists, func(k *Case, v string) { k.Dist = v })...)
	}
	return out
}

// settleMix fills in what follows from the distribution, and drops what it has not.
func (k *Case) settleMix() {
	switch k.Dist {
	case DistUniform, DistHotspot:
		k.Theta = 0
	case DistLatest:
		k.InsertPct = 100 - k.GetPct - k.RMWPct
	}
	if k.Dist != DistScanMixed {
		k.ScanPct = 0
	}
	if k.Dist != DistHotspot {
		k.HotOps, k.HotKeys = 0, 0
	}
}

// mix is the operations of a case.
func (k *Case) mix(seed uint64) load.Mix {
	return load.Mix{
		Keys: uint64(k.Keys), GetPct: k.GetPct, ModifyPct: k.RMWPct, Theta: k.Theta, ScanPct: k.ScanPct,
		HotOpsPct: k.HotOps, HotKeysPct: k.HotKeys, Latest: k.Dist == DistLatest,
		Seed: seed, Workers: k.callers(), InFlight: k.most(),
	}
}

// errNoRanges says why there is no workload E.
var errNoRanges = errors.New("scans ranges of keys, and keys of a cache have no order: use one of the others")

// checkMixes refuses workloads, percentages and distributions that cannot be.
func (c *Config) checkMixes(errs *bench.Faults) {
	if slices.Contains(c.Workloads, ycsbE) {
		errs.Add("--workload %s %w (%s)", ycsbE, errNoRanges, strings.Join(Workloads(), ", "))
		return
	}
	errs.OneOf("--workload", c.Workloads, Workloads())
	for _, p := range c.GetPcts {
		percentage(errs, "--get-pct", p)
	}
	for _, p := range c.RMWPcts {
		percentage(errs, "--rmw-pct", p)
	}
	errs.OneOf("--dist", c.Dists, Dists())
	for _, k := range c.mixes(make([]Case, 1)) {
		if sum := k.GetPct + k.RMWPct; sum > 100 && k.GetPct <= 100 && k.RMWPct <= 100 {
			errs.Add("--get-pct %g and --rmw-pct %g%s are more than 100", k.GetPct, k.RMWPct, ofWorkload(k.Workload))
		}
		if k.Dist == DistLatest {
			c.checkLatest(errs)
		}
	}
	percentage(errs, "--hot-ops", c.HotOps)
	if !(c.HotKeys > 0 && c.HotKeys <= 100) {
		errs.Add("--hot-keys %v is not above 0 and at most 100", c.HotKeys)
	}
}

func ofWorkload(name string) string {
	if name == "" {
		return ""
	}
	return fmt.Sprintf(" (of --workload %s where they were not given)", name)
}

// percentage refuses what is none.
func percentage(errs *bench.Faults, flag string, p float64) {
	if !(p >= 0 && p <= 100) {
		errs.Add("%s %v is not between 0 and 100", flag, p)
	}
}

// growingKey is the least size of keys where their number grows: of such there are 2^32.
const growingKey = 8

// checkLatest refuses what new keys have no room for.
func (c *Config) checkLatest(errs *bench.Faults) {
	if c.KeyDist == "" && c.KeySize < growingKey {
		errs.Add("--dist %s makes new keys: use a --key-size of %d at least, not %d", DistLatest, growingKey, c.KeySize)
	} else if s, err := load.ParseKeySizes(c.KeyDist); err == nil && s.Least() < growingKey {
		errs.Add("--dist %s makes new keys: use a --key-size of %d at least, not %s", DistLatest, growingKey, c.KeyDist)
	}
	workers := slices.Max(c.Clients) * max(slices.Max(c.Goroutines), 1)
	if c.Keys < workers {
		errs.Add("--dist %s: %d clients or goroutines need a key each to begin with, and --keys is %d", DistLatest, workers, c.Keys)
	}
}
