package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

func TestBenchVerbsPrintsATable(t *testing.T) {
	code, out, errOut := runCmd(t, "bench", "verbs", "read", "echo-ww", "--ops", "500", "--size", "8,64")
	if code != exitOK || errOut != "" {
		t.Fatalf("exit code %d, standard error %q", code, errOut)
	}
	for _, words := range []string{"ops/s", "p50", "read ", "echo-ww ", "64 B", "█", "CPUs: ", "clock: ", "waiting: adaptive"} {
		if !strings.Contains(out, words) {
			t.Errorf("the table does not contain %q:\n%s", words, out)
		}
	}
}

func TestBenchVerbsPrintsNothingButJSON(t *testing.T) {
	for _, fabric := range []string{"loop", "shm", "tcp"} {
		code, out, _ := runCmd(t, "bench", "verbs", "write", "--fabric", fabric, "--window", "1,4", "--ops", "500", "--json")
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
			if row["test"] != "write" || row["fabric"] != fabric || row["ops"] != 500.0 {
				t.Errorf("%s: %s", fabric, line)
			}
		}
	}
}

// The flags that a user can switch off, too.
func TestBenchVerbsSwitches(t *testing.T) {
	for args, want := range map[string]string{
		"":                                          `"inline":true,"signaled":false`,
		"--inline=false":                            `"inline":false,"signaled":false`,
		"--unsignaled=false":                        `"inline":true,"signaled":true`,
		"--inline --unsignaled":                     `"inline":true,"signaled":false`,
		"--transport uc --poll busy":                `"transport":"uc"`,
		"--trials 2 --warmup 0s":                    `"trial":2`,
		"--threads 2 --duration 10ms":               `"threads":2`,
		"--size 16 --window 3":                      `"size":16`,
		"--accesses 2 --table 64KiB":                `"accesses":2,"prefetch":"on","table_bytes":65536`,
		"--accesses 2 --table 64KiB --prefetch off": `"accesses":2,"prefetch":"off","table_bytes":65536`,
	} {
		all := append([]string{"bench", "verbs", "echo-ww", "--fabric", "loop", "--json"}, strings.Fields(args)...)
		if !strings.Contains(args, "--duration") {
			all = append(all, "--ops", "100")
		}
		if code, out, errOut := runCmd(t, all...); code != exitOK || !strings.Contains(out, want) {
			t.Errorf("%s: exit code %d, %q, want %q in\n%s", args, code, errOut, want, out)
		}
	}
}

func TestBenchVerbsRepliesByDatagrams(t *testing.T) {
	code, out, errOut := runCmd(t, "bench", "verbs", "echo-ws", "--fabric", "loop", "--ops", "100", "--json",
		"--transport", "uc", "--reply-transport", "ud")
	if code != exitOK || !strings.Contains(out, `"transport":"uc"`) || !strings.Contains(out, `"reply_transport":"ud"`) {
		t.Errorf("exit code %d, %q\n%s", code, errOut, out)
	}
}

func TestBenchVerbsExplainsMistakes(t *testing.T) {
	for args, want := range map[string]string{
		"echo-ws --accesses 2 --prefetch maybe": `--prefetch "maybe" is unknown: use on, off or on,off`,
		"echo-ws --prefetch on":                 "--accesses, which is missing",
		"echo-ws --table 1GiB":                  "--table is where --accesses go",
		"echo-ws --accesses 2 --table 0":        "larger than 0",
		"echo-ws --accesses two":                "invalid argument",
		"read --accesses 2":                     "use echo-ws or echo-ww, not read",
		"echo-ws --reply-transport rc":          "--reply-transport",
	} {
		code, out, errOut := runCmd(t, append([]string{"bench", "verbs"}, strings.Fields(args)...)...)
		if code != exitUsage || out != "" || !strings.Contains(errOut, want) {
			t.Errorf("%s: exit code %d, %q, want %q", args, code, errOut, want)
		}
	}
}

// The server of a fabric, and of the figures that measure one, can be started by another command.
func TestBenchVerbsWithItsOwnServerCommand(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{"verbs read", "figure herd-fig4 --trials 1"} {
		words := append([]string{"bench"}, strings.Fields(args)...)
		code, out, errOut := runCmd(t, append(words, "--fabric", "tcp", "--ops", "50", "--json",
			"--listen", "tcp://127.0.0.1:0", "--server-command", exe+" bench worker verbs")...)
		if code != exitOK || !strings.Contains(out, `"fabric":"tcp"`) || !strings.Contains(out, `"ops":`) {
			t.Errorf("%s: exit code %d, %q, standard error %q", args, code, out, errOut)
		}
	}
}
