package command

import "testing"

// What is asked about statistics and answered is what was said, and nothing else is accepted.
func TestStatsCodec(t *testing.T) {
	if _, begin, err := ParseStats(nil); !begin || err != nil {
		t.Error("an empty request does not begin a report")
	}
	want := StatsPiece{Report: 1<<63 + 5, Core: 7, Offset: 1<<31 + 1}
	msg := AppendStatsPiece(nil, want)
	if got, begin, err := ParseStats(msg); got != want || begin || err != nil {
		t.Errorf("%+v, %v, %v", got, begin, err)
	}
	for _, bad := range [][]byte{msg[1:], append(msg, 0), {1}} {
		if _, _, err := ParseStats(bad); err == nil {
			t.Errorf("%d bytes are accepted", len(bad))
		}
	}
	body := func(result []byte) []byte {
		t.Helper()
		b, s, err := ParseStatus(result)
		if err != nil || s != OK {
			t.Fatalf("%v, %v", s, err)
		}
		return b
	}
	if n, err := ParseReport(body(AppendReport(nil, 99))); n != 99 || err != nil {
		t.Errorf("report %d, %v", n, err)
	}
	text := []byte("0123456789")
	for offset, piece := range map[uint32]string{0: "0123", 4: "4567", 8: "89", 10: "", 1<<32 - 1: ""} {
		if total, got, err := ParsePiece(body(AppendPiece(nil, text, offset, 4))); total != 10 || string(got) != piece || err != nil {
			t.Errorf("from %d: %d, %q, %v", offset, total, got, err)
		}
	}
	if total, got, err := ParsePiece(body(AppendPiece(nil, nil, 0, 4))); total != 0 || len(got) != 0 || err != nil {
		t.Errorf("not ready: %d, %q, %v", total, got, err)
	}
	if _, err := ParseReport([]byte("short")); err == nil {
		t.Error("a short number is accepted")
	}
	if _, _, err := ParsePiece([]byte("abc")); err == nil {
		t.Error("a short piece is accepted")
	}
}
