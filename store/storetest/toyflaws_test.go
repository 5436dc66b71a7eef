//go:build !race

// Cases are shorter in race builds, and notice less.

package storetest

import (
	"slices"
	"strings"
	"testing"
)

// toyFlaws are toys that break one rule each, and the cases that must fail.
var toyFlaws = []struct {
	name  string
	flaw  toyFlaw
	cases []string
}{
	{"no-checksum", toyFlaw{noSum: true}, []string{
		"E1/flips/store", "E1/flips/cache", "E1/torn/store", "E1/torn/cache",
		"E1/hammer/few-keys/store", "E1/hammer/one-size/cache",
	}},
	{"checksum-of-nothing", toyFlaw{sumOfValue: true}, []string{"E1/flips/store", "E1/torn/cache"}},
	{"no-key-compare", toyFlaw{noKey: true}, []string{"E1/foreign/store", "E1/foreign/cache", "E2/one-hash/store"}},
	{"stale-entry", toyFlaw{staleEntry: true}, []string{"E2/after-each-call/store", "E1/similar-keys/store", "E1/between-steps/store"}},
	{"publishes-later", toyFlaw{late: true}, []string{"E2/after-each-call/store", "E2/after-each-call/cache"}},
	{"missing-while-replaced", toyFlaw{missing: true}, []string{"E1/hammer/few-keys/store", "E2/hammer/many-keys/store"}},
	{"delete-leaves-entry", toyFlaw{keepsDeleted: true}, []string{"E2/after-each-call/store", "E1/between-steps/store"}},
	{"eviction-leaves-entry", toyFlaw{keepsEvicted: true}, []string{"E2/after-each-call/cache", "E2/one-hash/cache"}},
	{"touch-breaks-the-proof", toyFlaw{inPlace: true}, []string{"E2/after-each-call/store", "E2/all-items/cache"}},
	{"loses-flags", toyFlaw{noFlags: true}, []string{"E2/after-each-call/store", "E2/all-items/cache", "E1/between-steps-at-random/store"}},
	{"loses-expiry", toyFlaw{noExpiry: true}, []string{"E2/after-each-call/store", "E1/expired/store"}},
	{"hides-what-expires", toyFlaw{hides: true}, []string{"E1/expired/store", "E1/expired/cache"}},
	{"always-asks", toyFlaw{asks: true}, []string{"E2/after-each-call/store", "E2/all-items/cache", "E1/similar-keys/store"}},
	{"missing-instead-of-again", toyFlaw{wrongMiss: true}, []string{
		"E1/between-steps/store", "E1/between-steps-at-random/store", "E1/torn/store", "E1/hammer/few-keys/store",
	}},
	{"missing-what-was-moved", toyFlaw{moves: true, wrongMiss: true}, []string{"E2/misses/store"}},
	{"never-ends", toyFlaw{endless: true}, []string{"E1/never-proves/store", "E1/never-proves/cache"}},
	{"asks-for-what-is-outside", toyFlaw{outside: true}, []string{"E1/garbage/store", "E1/garbage/cache"}},
	{"trusts-lengths", toyFlaw{trusting: true}, []string{"E1/garbage/store", "E1/layout/store"}},
	{"trusts-the-layout", toyFlaw{crashes: true}, []string{"E1/layout/store"}},
	{"value-is-a-copy", toyFlaw{copies: true}, []string{"E2/after-each-call/store", "E1/finder-allocs/store"}},
	{"look-allocates", toyFlaw{allocates: true}, []string{"E1/finder-allocs/store", "E1/finder-allocs/cache"}},
	{"word-is-read-only", toyFlaw{readOnlyWord: true}, []string{"E1/touch/store"}},
	{"word-is-part-of-the-proof", toyFlaw{wordInItem: true}, []string{"E1/touch/store", "E1/touch/cache"}},
	{"trusts-words", toyFlaw{readsWords: true}, []string{"E1/writable/store", "E1/writable/cache"}},
	{"exports-change", toyFlaw{exportsAnew: true}, []string{"E1/areas/store"}},
	{"not-from-the-source", toyFlaw{heap: true}, []string{"E1/areas/store"}},
}

// provoke runs a case until it fails, for a limited number of times: whether a hammer meets the
// flaw depends on the scheduler.
func provoke(t *testing.T, c *testCase, engine Engine) *recorder {
	t.Helper()
	tries := 1
	if strings.Contains(c.name, "hammer") {
		tries = 20
	}
	var r *recorder
	for range tries {
		r = &recorder{TB: t}
		if runCase(r, c, engine, plainOptions); r.failed {
			break
		}
	}
	return r
}

// TestToyFlaws runs cases on toys with a flaw, and expects them to fail.
func TestToyFlaws(t *testing.T) {
	all := exportCases()
	noticed := map[string]bool{}
	for _, f := range toyFlaws {
		t.Run(f.name, func(t *testing.T) {
			for _, name := range f.cases {
				i := slices.IndexFunc(all, func(c *testCase) bool { return c.name == name })
				if i < 0 {
					t.Fatalf("there is no case %s", name)
				}
				r := provoke(t, all[i], toyEngine(f.flaw))
				if !r.failed {
					t.Errorf("%s did not notice: %s", name, r.log.String())
					continue
				}
				noticed[strings.TrimSuffix(strings.TrimSuffix(name, "/store"), "/cache")] = true
				line, _, _ := strings.Cut(r.log.String(), "\n")
				t.Logf("%s noticed: %s", name, line)
			}
		})
	}
	for _, c := range all {
		if name := strings.TrimSuffix(strings.TrimSuffix(c.name, "/store"), "/cache"); !noticed[name] {
			t.Errorf("no flaw shows that %s can fail", name)
		}
	}
}
