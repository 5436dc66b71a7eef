//go:build rdma

package verbs

import (
	"testing"
	"time"

	"github.com/remora-kv/remora/fabric"
	"github.com/remora-kv/remora/fabric/internal/base"
)

// TestCountsAreAskedFor: a control connection is silent until the program reads the
// counters of the other end.
func TestCountsAreAskedFor(t *testing.T) {
	s := newHost(t)
	q, err := s.dev.newConnected(s.config())
	if err != nil {
		t.Fatal(err)
	}
	near, far := tcpPair(t)
	if err := s.dev.startControl(q, near); err != nil {
		t.Fatal(err)
	}
	q.stats.out[fabric.OpRead].Store(7)
	if _, err := far.Write(appendMessage(nil, kindAsk, nil)); err != nil {
		t.Fatal(err)
	}
	_ = far.SetReadDeadline(base.Until(5 * time.Second))
	var buf [maxBody]byte
	k, body, err := readMessage(far, &buf)
	if err != nil || k != kindCounts {
		t.Fatalf("an ask was answered with message %d, %v", k, err)
	}
	if c, err := decodeCounts(body); err != nil || c.ops[fabric.OpRead] != 7 {
		t.Errorf("the answer is %+v, %v", c, err)
	}
	// However often counters are read, the peer is asked once until it answers.
	for range 100 {
		q.Counters()
	}
	if err := q.Close(); err != nil {
		t.Error(err)
	}
	var kinds []kind
	for {
		k, _, err := readMessage(far, &buf)
		if err != nil {
			break
		}
		kinds = append(kinds, k)
	}
	if len(kinds) != 2 || kinds[0] != kindAsk || kinds[1] != kindBye {
		t.Errorf("the peer receives messages %v, want one ask and a bye", kinds)
	}
}
