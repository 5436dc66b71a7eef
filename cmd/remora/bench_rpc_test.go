package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

func TestBenchRPCPrintsATable(t *testing.T) {
	code, out, errOut := runCmd(t, "bench", "rpc", "--ops", "300", "--size", "8,64", "--path", "rfp,reply")
	if code != exitOK || errOut != "" {
		t.Fatalf("exit code %d, standard error %q", code, errOut)
	}
	for _, words := range []string{"calls/s", "p50", "rfp ", "reply ", "64 B", "█", "CPUs: ", "clock: ", "waiting: adaptive"} {
		if !strings.Contains(out, words) {
			t.Errorf("the table does not contain %q:\n%s", words, out)
		}
	}
}

func TestBenchRPCPrintsNothingButJSON(t *testing.T) {
	for _, fabric := range []string{"loop", "shm", "tcp"} {
		code, out, _ := runCmd(t, "bench", "rpc", "--fabric", fabric, "--window", "1,4", "--ops", "300", "--json")
		if code != exitOK {
			t.Fatalf("%s: exit code %d", fabric, code)
		}
		lines := strings.Split(strings.TrimSpace(out), "\n")
		if len(lines) != 2 {
			t.Fatalf("%s: %d lines, want one for each window:\n%s", fabric, len(lines), out)
		}
		for _, line := range lines {
			var row map[string]any
			if err := json.Unmarshal([]byte(line), &row); err != nil {
				t.Fatalf("%s: %v in %q", fabric, err, line)
			}
			if row["path"] != "rfp" || row["fabric"] != fabric || row["ops"] != 300.0 {
				t.Errorf("%s: %s", fabric, line)
			}
		}
	}
}

func TestBenchRPCFlags(t *testing.T) {
	for args, want := range map[string]string{
		"":                                   `"batch":1,"process_us":0,"trial":1,"ops":100`,
		"--path fetch":                       `"path":"fetch"`,
		"--result-size 100 --fetch-size 64":  `"result_size":100`,
		"--process-time 2us,3us":             `"process_us":3,`,
		"--clients 4 --threads 2":            `"clients":4,"connected":0`,
		"--clients 2 --connected 5":          `"connected":5`,
		"--goroutines 3":                     `"goroutines":3,"window":1,"batch":32`,
		"--limit 1ms --alpha 0.1 --window 4": `"limit_us":1000`,
		"--no-inline --signal-all":           `"no_inline":true,"signal_all":true`,
		"--retries 3 --poll busy":            `"poll":"busy","retries":3`,
		"--trials 2 --warmup 0s --cores 2":   `"cores":2,`,
	} {
		all := append([]string{"bench", "rpc", "--fabric", "loop", "--ops", "100", "--json"}, strings.Fields(args)...)
		if code, out, errOut := runCmd(t, all...); code != exitOK || !strings.Contains(out, want) {
			t.Errorf("%s: exit code %d, %q, want %q in\n%s", args, code, errOut, want, out)
		}
	}
}

func TestMistakesInBenchRPCGetExitCode2AndAdvice(t *testing.T) {
	for _, tc := range []struct{ args, want string }{
		{"bench rcp", "did you mean rpc?"},
		{"bench rpc now", "takes no arguments"},
		{"bench rpc --path herd", "use rfp, fetch, reply"},
		{"bench rpc --fabric ether", "loop, shm, tcp"},
		{"bench rpc --window many", "--window"},
		{"bench rpc --clients 0", "at least 1"},
		{"bench rpc --clients 2 --threads 3", "between 1 and 2"},
		{"bench rpc --goroutines 2 --threads 1", "exclude each other"},
		{"bench rpc --poll lazy", "adaptive or busy"},
		{"bench rpc --duration 0s", "too short"},
		{"bench rpc --process-time soon", "--process-time"},
		{"bench rpc --server-command x", "--listen"},
	} {
		code, out, errOut := runCmd(t, strings.Fields(tc.args)...)
		if code != exitUsage || out != "" || !strings.Contains(errOut, tc.want) || !strings.Contains(errOut, "--help'") {
			t.Errorf("%s: exit code %d, standard output %q, standard error %q, want %q", tc.args, code, out, errOut, tc.want)
		}
	}
}

// A server that another command starts finds its CPUs itself and listens where it
// is told.
func TestBenchRPCWithItsOwnServerCommand(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	code, out, errOut := runCmd(t, "bench", "rpc", "--fabric", "tcp", "--ops", "50", "--listen", "tcp://127.0.0.1:0",
		"--server-command", exe+" bench worker rpc")
	if code != exitOK || !strings.Contains(out, "server on CPUs of its own") {
		t.Errorf("exit code %d, %q, standard error %q", code, out, errOut)
	}
	code, _, errOut = runCmd(t, "bench", "rpc", "--listen", "shm:/nowhere", "--server-command", "echo broken >&2; exit 3")
	if code != exitFailure || !strings.Contains(errOut, "broken") {
		t.Errorf("exit code %d, standard error %q", code, errOut)
	}
}

func TestBenchRPCCompletion(t *testing.T) {
	for flag, want := range map[string]string{"--path": "reply", "--fabric": "shm", "--poll": "busy"} {
		if code, out, _ := runCmd(t, "__complete", "bench", "rpc", flag, ""); code != exitOK || !strings.Contains(out, want) {
			t.Errorf("%s: exit code %d, %q is not offered in %q", flag, code, want, out)
		}
	}
	if _, out, _ := runCmd(t, "bench", "--help"); strings.Contains(out, "worker") {
		t.Error("help mentions the hidden worker")
	}
}
