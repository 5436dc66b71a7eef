package fabrictest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/remora-kv/remora/test/scale"
)

// contract returns all comments of package fabric as one text with single
// spaces, without the numbers of guarantees.
func contract(t *testing.T) (text string, numbers []string) {
	t.Helper()
	files, err := filepath.Glob("../*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no sources of package fabric: %v", err)
	}
	var words []string
	number := regexp.MustCompile(`^(//\s+)([GT]\d+) `)
	for _, f := range files {
		src, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(src)) {
			line = strings.TrimSpace(line)
			if m := number.FindStringSubmatch(line); m != nil {
				numbers = append(numbers, m[2])
				line = number.ReplaceAllString(line, "$1")
			}
			if rest, ok := strings.CutPrefix(line, "//"); ok {
				words = append(words, strings.Fields(rest)...)
			} else if i := strings.Index(line, " // "); i >= 0 {
				words = append(words, strings.Fields(line[i+4:])...)
			}
		}
	}
	return strings.Join(words, " "), numbers
}

// TestRules checks that every case cites the contract word for word, that
// every guarantee has a case, and that names are unique.
func TestRules(t *testing.T) {
	text, numbers := contract(t)
	if len(numbers) < 19 {
		t.Fatalf("found guarantees %v only", numbers)
	}
	names, cited := map[string]bool{}, map[string]bool{}
	check := func(name, rule string) {
		if names[name] {
			t.Errorf("two cases are called %s", name)
		}
		names[name] = true
		if rule == "" {
			t.Errorf("%s cites nothing", name)
		}
		for _, sentence := range sentences(rule) {
			if !strings.Contains(text, sentence) {
				t.Errorf("%s cites %q, which is not in the contract", name, sentence)
			}
		}
	}
	for _, c := range allCases() {
		check(c.name, c.rule)
		number, _, _ := strings.Cut(c.name, "/")
		cited[number] = true
	}
	for _, n := range numbers {
		if !cited[n] {
			t.Errorf("%s has no case", n)
		}
	}
	if t.Failed() {
		return
	}
	t.Logf("%d cases", len(names))
}

// sentences splits a rule that joins several.
func sentences(rule string) []string {
	if rule == ruleRights+" "+ruleTold {
		return []string{ruleRights, ruleTold}
	}
	return []string{rule}
}

// recorder is the testing.TB of a case that is expected to fail.
type recorder struct {
	testing.TB
	mu      sync.Mutex
	failed  bool
	skipped bool
	log     strings.Builder
}

func (r *recorder) Helper() {}

func (r *recorder) Failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

func (r *recorder) Fail() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = true
}

func (r *recorder) Logf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(&r.log, format+"\n", args...)
}

func (r *recorder) Error(args ...any) {
	r.Fail()
	r.Logf("%s", fmt.Sprint(args...))
}

func (r *recorder) Errorf(format string, args ...any) { r.Error(fmt.Sprintf(format, args...)) }

func (r *recorder) Skip(args ...any) {
	r.Logf("%s", fmt.Sprint(args...))
	r.skipped = true
}

// TestBroken runs cases on devices that break one rule each, and expects them
// to notice; and on the same devices unbroken, and expects them to pass.
func TestBroken(t *testing.T) {
	cases := map[string]*testCase{}
	for _, c := range allCases() {
		cases[c.name] = c
	}
	for _, f := range flaws {
		t.Run(f.name, func(t *testing.T) {
			if f.raceOff && scale.Race {
				t.Skip("not checked in race builds")
			}
			for _, name := range f.cases {
				c := cases[name]
				if c == nil {
					t.Fatalf("there is no case %s", name)
				}
				for _, broken := range []bool{false, true} {
					r := &recorder{TB: t}
					opt := Options{exact: true}
					if broken {
						opt.patience = time.Second
					}
					runCase(r, c, func(tb testing.TB) *World { return flawed(loopWorld(tb), f, broken) }, opt, true)
					if r.failed != broken {
						t.Errorf("%s on a device with the flaw %v: failed %v\n%s", name, broken, r.failed, r.log.String())
					} else if broken {
						t.Logf("%s noticed: %s", name, firstLine(r.log.String()))
					}
				}
			}
		})
	}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
