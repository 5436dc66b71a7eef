package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
)

// The test binary is also the server process that perf starts, which is
// os.Executable with one argument.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == perfServer {
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
	for _, words := range []string{"doctor", "perf", "version", "completion", "--json", "Exit codes"} {
		if !strings.Contains(out, words) {
			t.Errorf("help does not mention %q:\n%s", words, out)
		}
	}
	if strings.Count(out, "\n  doctor ") != 1 {
		t.Errorf("help does not list doctor once:\n%s", out)
	}
	if strings.Contains(out, perfServer) {
		t.Errorf("help mentions the hidden %s", perfServer)
	}
}

func TestEveryCommandHasHelpWithExamples(t *testing.T) {
	root := newRootCmd(&app{})
	for _, cmd := range root.Commands() {
		if cmd.Hidden || cmd.Name() == "completion" || cmd.Name() == "help" {
			continue
		}
		if cmd.Short == "" || cmd.Example == "" {
			t.Errorf("%s has no description or no example", cmd.Name())
		}
	}
}

func TestMistakesGetExitCode2AndAdvice(t *testing.T) {
	for _, tc := range []struct {
		args []string
		want []string
	}{
		{[]string{"prf"}, []string{`unknown command "prf"`, "did you mean perf?", "remora --help"}},
		{[]string{"xyzzy"}, []string{`unknown command "xyzzy"`}},
		{[]string{"--wrong"}, []string{"unknown flag: --wrong"}},
		{[]string{"version", "now"}, []string{"takes no arguments", "remora version --help"}},
		{[]string{"perf", "reed"}, []string{`test "reed" is unknown`, "read", "remora perf --help"}},
		{[]string{"perf", "--window", "many"}, []string{"--window"}},
		{[]string{"perf", "--fabric", "ether"}, []string{`"ether" is unknown`, "loop, shm, tcp"}},
		{[]string{"perf", "read", "--transport", "ud"}, []string{"read needs READ", "--transport rc"}},
		{[]string{"perf", "--poll", "lazy"}, []string{"adaptive or busy"}},
		{[]string{"perf", "--threads", "0"}, []string{"at least 1"}},
		{[]string{"perf", "--server-command", "ssh x remora perf-server"}, []string{"--listen"}},
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
	code, out, errOut := runCmd(t, "perf", "read", "--server-command", "echo broken >&2; exit 3", "--listen", "shm:/nowhere")
	if code != exitFailure || out != "" || !strings.Contains(errOut, "broken") {
		t.Errorf("exit code %d, standard output %q, standard error %q", code, out, errOut)
	}
}

func TestStoppingIsNotAnErrorMessage(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errOut bytes.Buffer
	code := run(ctx, []string{"perf", "read"}, strings.NewReader(""), &out, &errOut)
	if code != exitFailure || errOut.String() != "remora: stopped\n" {
		t.Errorf("exit code %d, standard error %q", code, errOut.String())
	}
}

func TestCompletion(t *testing.T) {
	for _, tc := range []struct {
		args []string
		want []string
	}{
		{[]string{"perf", ""}, []string{"read\t", "echo-ww\t", "all\t"}},
		{[]string{"perf", "--fabric", ""}, []string{"loop", "shm", "tcp", "rdma"}},
		{[]string{"perf", "--transport", ""}, []string{"rc", "uc", "ud"}},
		{[]string{"perf", "--poll", ""}, []string{"adaptive", "busy"}},
		{[]string{"p"}, []string{"perf\t"}},
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
