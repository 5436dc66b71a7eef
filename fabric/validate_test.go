package fabric

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// someDomain is a domain that is only compared.
type someDomain struct{ _ byte }

func (*someDomain) Alloc(string, int, Access) (*Region, error) { return nil, ErrUnsupported }
func (*someDomain) NewUD(QPConfig) (QP, error)                 { return nil, ErrUnsupported }
func (*someDomain) NewAddressHandle(context.Context, []byte) (AddressHandle, error) {
	return nil, ErrUnsupported
}
func (*someDomain) Close() error { return nil }

var testLimits = Limits{
	MaxInline: 64, MaxSegs: 2, MaxDepth: 16, MaxMessage: 1 << 20, MTU: 1024, UC: true, UD: true, Atomics: true,
}

type noHandle struct{}

func (noHandle) Close() error { return nil }

func TestValidateWR(t *testing.T) {
	mine, other := &someDomain{}, &someDomain{}
	r := NewRegion(RegionParams{Mem: make([]byte, 2<<20), Domain: mine})
	foreign := NewRegion(RegionParams{Mem: make([]byte, 64), Domain: other})
	for _, tc := range []struct {
		name string
		t    Transport
		w    WR
		want error
		says string
	}{
		{"send", RC, WR{Op: OpSend, Local: r.Seg(0, 100)}, nil, ""},
		{"empty", RC, WR{Op: OpSend}, nil, ""},
		{"two segments", RC, WR{Op: OpWrite, Local: r.Seg(0, 1), More: []Seg{r.Seg(5, 5)}}, nil, ""},
		{"inline", UC, WR{Op: OpWrite, Flags: FlagInline, Local: r.Seg(0, 64)}, nil, ""},
		{"atomic", RC, WR{Op: OpFetchAdd, Local: r.Seg(8, 8), Remote: Remote{Addr: 16}}, nil, ""},
		{"datagram", UD, WR{Op: OpSend, Local: r.Seg(0, 1024), To: noHandle{}}, nil, ""},
		{"at the end", RC, WR{Op: OpRead, Local: r.Seg(2<<20-1, 1)}, nil, ""},

		{"read on uc", UC, WR{Op: OpRead}, ErrUnsupported, "READ on uc"},
		{"write on ud", UD, WR{Op: OpWrite}, ErrUnsupported, "WRITE on ud"},
		{"recv", RC, WR{Op: OpRecv}, ErrUnsupported, "RECV"},
		{"no such op", RC, WR{Op: 99}, ErrUnsupported, "99"},
		{"outside", RC, WR{Op: OpSend, Local: r.Seg(2<<20, 1)}, ErrInvalid, "region of 2097152"},
		{"negative offset", RC, WR{Op: OpSend, Local: r.Seg(-1, 1)}, ErrInvalid, "segment"},
		{"negative length", RC, WR{Op: OpSend, Local: r.Seg(1, -1)}, ErrInvalid, "segment"},
		{"huge", RC, WR{Op: OpSend, Local: r.Seg(1, 1<<62)}, ErrInvalid, "segment"},
		{"second outside", RC, WR{Op: OpSend, Local: r.Seg(0, 1), More: []Seg{r.Seg(2<<20, 1)}}, ErrInvalid, "segment"},
		{"no region", RC, WR{Op: OpSend, Local: Seg{Len: 1}}, ErrInvalid, "without a region"},
		{"other domain", RC, WR{Op: OpSend, Local: foreign.Seg(0, 1)}, ErrInvalid, "another protection domain"},
		{"too many segments", RC, WR{Op: OpSend, More: make([]Seg, 2)}, ErrInvalid, "3 segments"},
		{"too long", RC, WR{Op: OpWrite, Local: r.Seg(0, 1<<20+1)}, ErrInvalid, "limit is 1048576"},
		{"too long inline", RC, WR{Op: OpSend, Flags: FlagInline, Local: r.Seg(0, 65)}, ErrInvalid, "65 bytes inline"},
		{"inline read", RC, WR{Op: OpRead, Flags: FlagInline, Local: r.Seg(0, 1)}, ErrInvalid, "inline READ"},
		{"beyond mtu", UD, WR{Op: OpSend, Local: r.Seg(0, 1025), To: noHandle{}}, ErrInvalid, "MTU is 1024"},
		{"no destination", UD, WR{Op: OpSend}, ErrInvalid, "destination"},
		{"atomic of 4", RC, WR{Op: OpCmpSwap, Local: r.Seg(0, 4)}, ErrInvalid, "8 aligned"},
		{"atomic here", RC, WR{Op: OpCmpSwap, Local: r.Seg(4, 8)}, ErrInvalid, "8 aligned"},
		{"atomic there", RC, WR{Op: OpCmpSwap, Local: r.Seg(0, 8), Remote: Remote{Addr: 4}}, ErrInvalid, "8 aligned"},
	} {
		err := ValidateWR(&tc.w, tc.t, mine, &testLimits)
		if !errors.Is(err, tc.want) || (err != nil && !strings.Contains(err.Error(), tc.says)) {
			t.Errorf("%s: %v, want %v that says %q", tc.name, err, tc.want, tc.says)
		}
	}
	none := testLimits
	none.Atomics = false
	w := WR{Op: OpFetchAdd, Local: r.Seg(0, 8)}
	if err := ValidateWR(&w, RC, mine, &none); !errors.Is(err, ErrUnsupported) {
		t.Errorf("an atomic on a device without: %v", err)
	}
}

func TestValidateWRDoesNotAllocate(t *testing.T) {
	d := &someDomain{}
	r := NewRegion(RegionParams{Mem: make([]byte, 64), Domain: d})
	w := WR{Op: OpSend, Local: r.Seg(0, 8), More: []Seg{r.Seg(8, 8)}}
	if n := testing.AllocsPerRun(100, func() { _ = ValidateWR(&w, RC, d, &testLimits) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestNormalize wants all faults of a configuration in one error.
func TestNormalize(t *testing.T) {
	c := QPConfig{Transport: 9, SendDepth: -1, RecvDepth: 17, RNRTimeout: -5, MaxInline: -2, MaxSegs: -1}
	err := c.Normalize(&testLimits)
	for _, says := range []string{"transport", "protection domain", "completion queue", "send depth -1", "receive depth 17", "RNR", "-2 bytes inline", "-1 segments"} {
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v does not speak of %q", err, says)
		}
	}
	if !errors.Is(err, ErrInvalid) || !errors.Is(err, ErrUnsupported) {
		t.Errorf("%v is neither invalid nor unsupported", err)
	}
}

func TestOperationTable(t *testing.T) {
	want := map[Transport][]Op{
		RC: {OpSend, OpWrite, OpWriteImm, OpRead, OpFetchAdd, OpCmpSwap},
		UC: {OpSend, OpWrite, OpWriteImm},
		UD: {OpSend},
	}
	for tr := RC; tr <= UD+1; tr++ {
		allowed := map[Op]bool{}
		for _, op := range want[tr] {
			allowed[op] = true
		}
		for op := Op(0); op <= NumOps; op++ {
			if tr.Allows(op) != allowed[op] {
				t.Errorf("%v allows %v: %v", tr, op, tr.Allows(op))
			}
		}
	}
}

func TestErrorsOfCompletions(t *testing.T) {
	c := Completion{ID: 7, Op: OpRead, Status: StatusPeerLost, QPN: 3}
	if err := c.Err(); !errors.Is(err, ErrCompletion) || !errors.Is(err, ErrPeerLost) || errors.Is(err, ErrProtocol) {
		t.Errorf("%v", err)
	}
	if got, want := c.Err().Error(), "fabric: READ (id 0x7, queue pair 3): peer lost"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	c.Status = StatusOK
	if c.Err() != nil {
		t.Error("success is an error")
	}
}
