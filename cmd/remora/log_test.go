package main

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// A message that is repeated is dropped for the rest of its second, whatever its attributes,
// and the next one says how many were.
func TestRepeatedMessages(t *testing.T) {
	var out bytes.Buffer
	h := limitRepeats(slog.NewTextHandler(&out, nil))
	start := time.Unix(1000, 0)
	say := func(after time.Duration, message string, client int) {
		r := slog.NewRecord(start.Add(after), slog.LevelWarn, message, 0)
		if err := h.WithAttrs([]slog.Attr{slog.Int("client", client)}).Handle(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 1000 {
		say(time.Duration(i)*time.Millisecond, "client refused", i)
	}
	say(999*time.Millisecond, "client lost", 1)
	if n := strings.Count(out.String(), "client refused"); n != repeats {
		t.Errorf("%d of 1000 messages in a second", n)
	}
	if !strings.Contains(out.String(), "client lost") || strings.Contains(out.String(), "dropped") {
		t.Errorf("%s", out.String())
	}
	out.Reset()
	say(time.Second, "client refused", 1000)
	say(time.Second, "client refused", 1001)
	if got := out.String(); strings.Count(got, "\n") != 2 || strings.Count(got, "dropped-before=990") != 1 {
		t.Errorf("%s", got)
	}
}
