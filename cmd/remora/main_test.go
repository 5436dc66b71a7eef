package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The test binary is also the processes that benchmarks start.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "bench" && os.Args[2] == "worker" {
		os.Exit(start())
	}
	os.Exit(m.Run())
}

// runCmd runs the program and returns its exit code and output.
func runCmd(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errOut bytes.Buffer
	code = run(t.Context(), args, strings.NewReader(""), &out, &errOut)
	return code, out.String(), errOut.String()
}

func TestHelpIsShownWithoutACommand(t *testing.T) {
	code, out, errOut := runCmd(t)
	if code != exitOK || errOut != "" {
		t.Errorf("exit code %d, standard error %q", code, errOut)
	}
	for _, words := range []string{"doctor", "bench", "version", "completion", "--json", "Exit codes"} {
		if !strings.Contains(out, words) {
			t.Errorf("help does not mention %q:\n%s", words, out)
		}
	}
	if strings.Count(out, "\n  doctor ") != 1 {
		t.Errorf("help does not list doctor once:\n%s", out)
	}
	for _, title := range []string{"Cache:\n  serve ", "Items with links:\n  kvl ", "Benchmarks:\n  bench ", "This machine:\n  doctor "} {
		if !strings.Contains(out, title) {
			t.Errorf("help has no group %q:\n%s", title, out)
		}
	}
}

func TestEveryCommandHasHelpWithExamples(t *testing.T) {
	for _, cmd := range allCommands(newRootCmd(&app{})) {
		if cmd.Short == "" || cmd.Example == "" || strings.Contains(cmd.Short, "\n") {
			t.Errorf("%s has no description in a line, or no example", cmd.CommandPath())
		}
	}
}

func TestMistakesGetExitCode2AndAdvice(t *testing.T) {
	for _, tc := range []struct {
		args []string
		want []string
	}{
		{[]string{"bemch"}, []string{`unknown command "bemch"`, "did you mean bench?", "remora --help"}},
		{[]string{"xyzzy"}, []string{`unknown command "xyzzy"`}},
		{[]string{"--wrong"}, []string{"unknown flag: --wrong"}},
		{[]string{"version", "now"}, []string{"takes no arguments", "remora version --help"}},
		{[]string{"bench", "verbs", "reed"}, []string{`test "reed" is unknown`, "read", "remora bench verbs --help"}},
		{[]string{"bench", "verbs", "--window", "many"}, []string{"--window"}},
		{[]string{"bench", "verbs", "--fabric", "ether"}, []string{`"ether"`, "loop, shm, tcp"}},
		{[]string{"bench", "verbs", "read", "--transport", "ud"}, []string{"read needs READ", "--transport rc"}},
		{[]string{"bench", "verbs", "--poll", "lazy"}, []string{"adaptive or busy"}},
		{[]string{"bench", "verbs", "--threads", "0"}, []string{"at least 1"}},
		{[]string{"bench", "verbs", "--server-command", "ssh x remora bench worker verbs"}, []string{"--listen"}},
	} {
		code, out, errOut := runCmd(t, tc.args...)
		if code != exitUsage || out != "" {
			t.Errorf("%v: exit code %d, standard output %q", tc.args, code, out)
		}
		for _, words := range tc.want {
			if !strings.Contains(errOut, words) {
				t.Errorf("%v: %q does not say %q", tc.args, errOut, words)
			}
		}
	}
}

func TestFailureGetsExitCode1(t *testing.T) {
	code, out, errOut := runCmd(t, "bench", "verbs", "read", "--server-command", "echo broken >&2; exit 3", "--listen", "shm:/nowhere")
	if code != exitFailure || out != "" || !strings.Contains(errOut, "broken") {
		t.Errorf("exit code %d, standard output %q, standard error %q", code, out, errOut)
	}
}

// allCommands are those that the help shows, with those below them.
func allCommands(cmd *cobra.Command) (all []*cobra.Command) {
	for _, sub := range cmd.Commands() {
		if !sub.Hidden && sub.Name() != "completion" && sub.Name() != "help" {
			all = append(append(all, sub), allCommands(sub)...)
		}
	}
	return all
}

// A flag means the same in every command: it is a list of, or one, of the same values, and
// among the first ten of the help are those that matter most.
func TestFlagsAreTheSameEverywhere(t *testing.T) {
	kinds := map[string]string{}
	for _, cmd := range allCommands(newRootCmd(&app{})) {
		first := 0
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			kind := strings.TrimSuffix(strings.TrimSuffix(f.Value.Type(), "Slice"), "64")
			if c, ok := f.Value.(choice); ok {
				kind = "string of " + strings.Join(c.of, "|")
			}
			if strings.HasPrefix(kind, "string of ") && kinds[f.Name] == "string" {
				kind = "string" // the list of the same
			}
			if known := kinds[f.Name]; known != "" && known != kind && !strings.HasPrefix(known, kind+" of ") {
				t.Errorf("%s --%s is %s, elsewhere %s", cmd.CommandPath(), f.Name, kind, known)
			}
			kinds[f.Name] = kind
			if f.Annotations[sectionKey] == nil {
				first++
			}
		})
		if first > 12 {
			t.Errorf("%s has %d flags in the first section of its help", cmd.CommandPath(), first)
		}
	}
}

func TestStoppingIsNotAnErrorMessage(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errOut bytes.Buffer
	code := run(ctx, []string{"bench", "verbs", "read"}, strings.NewReader(""), &out, &errOut)
	if code != 130 || errOut.String() != "remora: interrupted\n" {
		t.Errorf("exit code %d, standard error %q", code, errOut.String())
	}
}

func TestCompletion(t *testing.T) {
	for _, tc := range []struct {
		args []string
		want []string
	}{
		{[]string{"bench", "verbs", ""}, []string{"read\t", "echo-ww\t", "all\t"}},
		{[]string{"bench", "verbs", "--fabric", ""}, []string{"loop", "shm", "tcp", "rdma"}},
		{[]string{"bench", "verbs", "--transport", ""}, []string{"rc", "uc", "ud"}},
		{[]string{"bench", "verbs", "--poll", ""}, []string{"adaptive", "busy"}},
		{[]string{"p"}, []string{"ping\t"}},
		{[]string{"bench", "verbs", "--prefetch", "on,"}, []string{"on,off"}},
		{[]string{"kvl", "check", "--dangling", ""}, []string{"fail", "drop", "null"}},
	} {
		code, out, _ := runCmd(t, append([]string{"__complete"}, tc.args...)...)
		if code != exitOK {
			t.Errorf("%v: exit code %d", tc.args, code)
		}
		for _, words := range tc.want {
			if !strings.Contains("\n"+out, "\n"+words) {
				t.Errorf("%v: %q is not offered in %q", tc.args, words, out)
			}
		}
	}
	if code, out, _ := runCmd(t, "completion", "bash"); code != exitOK || !strings.Contains(out, "remora") {
		t.Errorf("completion bash: exit code %d, %d bytes", code, len(out))
	}
}
