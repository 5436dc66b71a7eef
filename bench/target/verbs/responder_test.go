package verbs

import (
	"testing"

	"github.com/remora-kv/remora/bench/load"
	"github.com/remora-kv/remora/internal/fence"
)

// M7: a caller that has given up a request writes the next one into its slot, maybe
// while the server, which is only late, sends the reply to the first. That reply
// must not look like one to the second, which nobody has served.
func TestALateReplyIsNotThatOfTheNextRequest(t *testing.T) {
	c := planOf(t, Config{Tests: []string{"echo-ww"}, Fabric: "loop", Transport: "uc"})[0]
	active, passive := pairOf(t, c)
	k, isCaller := active.progs[0].(*caller)
	s, isResponder := passive.progs[0].(*responder)
	if !isCaller || !isResponder {
		t.Fatalf("client runs %T, server %T", active.progs[0], passive.progs[0])
	}
	k.m, s.m = &load.Meter{}, &load.Meter{}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	r := &s.lanes[0]
	must(k.send(1))
	n := r.requests()
	k.skipTo(k.sent)
	must(k.send(1))
	must(s.take(r, n))
	if got := fence.Observe64(k.reply[0]); n != 1 || got != 1 {
		t.Errorf("%d requests were taken, and the reply has number %d", n, got)
	}
	if !s.stepWritten() || !k.pickWritten() || k.got != 2 {
		t.Errorf("then request 2 was not answered: %v", s.err)
	}
}
