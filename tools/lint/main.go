// Command lint runs the analyzers of staticcheck and a few others.
//
//	go -C tools build -o ../bin/lint ./lint
//	bin/lint -tags rdma,wire ./...
//
// The flags are staticcheck's. A finding that is right in general and wrong in one place
// is silenced there, with the reason:
//
//	//lint:ignore noctx it ends by Kill
//
// golangci-lint has the same analyzers, and a hundred more: on two cores it takes five
// minutes to build, this program takes one.
package main

import (
	"bytes"
	"os"
	"regexp"
	"strings"

	"codeberg.org/polyfloyd/go-errorlint/errorlint"
	"github.com/kisielk/errcheck/errcheck"
	"github.com/nishanths/exhaustive/passes/exhaustive"
	"github.com/sonatard/noctx"
	"github.com/timakin/bodyclose/passes/bodyclose"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/nilness"
	"golang.org/x/tools/go/analysis/passes/unusedwrite"
	"honnef.co/go/tools/lintcmd"
	"honnef.co/go/tools/simple"
	"honnef.co/go/tools/staticcheck"
	"honnef.co/go/tools/stylecheck"
	"honnef.co/go/tools/unused"
)

// checks is the default of -checks.
const checks = "all," +
	"-ST1003" // names such as QP_Num come from C headers

func main() {
	set(errcheck.Analyzer, "assert", "true")
	set(exhaustive.Analyzer, "d", "true") // a default covers the cases that are missing
	cmd := lintcmd.NewCommand("lint")
	cmd.AddAnalyzers(staticcheck.Analyzers...)
	cmd.AddAnalyzers(simple.Analyzers...)
	cmd.AddAnalyzers(stylecheck.Analyzers...)
	cmd.AddAnalyzers(unused.Analyzer)
	cmd.AddBareAnalyzers(
		bodyclose.Analyzer,
		errorlint.NewAnalyzer(),
		exhaustive.Analyzer,
		nilness.Analyzer,
		unusedwrite.Analyzer,
		except(inTest, noctx.Analyzer),
		except(bestEffort, errcheck.Analyzer),
	)
	cmd.ParseFlags(append([]string{"-checks", checks}, os.Args[1:]...))
	cmd.Run()
}

func set(a *analysis.Analyzer, flag, value string) {
	if err := a.Flags.Set(flag, value); err != nil {
		panic(err)
	}
}

// except returns the analyzer a without those of its findings that match.
func except(match func(file, line string) bool, a *analysis.Analyzer) *analysis.Analyzer {
	filtered := *a
	filtered.Run = func(pass *analysis.Pass) (any, error) {
		p, report := *pass, pass.Report
		p.Report = func(d analysis.Diagnostic) {
			at := pass.Fset.Position(d.Pos)
			text, err := os.ReadFile(at.Filename)
			if err != nil || !match(at.Filename, lineOf(text, at.Line)) {
				report(d)
			}
		}
		return a.Run(&p)
	}
	return &filtered
}

func lineOf(text []byte, n int) string {
	lines := bytes.SplitN(text, []byte("\n"), n+1)
	return string(lines[min(n, len(lines))-1])
}

func inTest(file, _ string) bool { return strings.HasSuffix(file, "_test.go") }

// effort matches calls whose errors nobody can act on, and receives from channels of
// errors, which errcheck takes for calls.
var effort = regexp.MustCompile(`\.(Close|Flush|RemoveAll)\(|Fprint|<-`)

func bestEffort(_, line string) bool { return effort.MatchString(line) }
