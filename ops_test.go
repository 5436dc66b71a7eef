package remora_test

import (
	"bytes"
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/remora-kv/remora"
)

// ops is what clients and sessions have in common.
type ops interface {
	Get(ctx context.Context, key string) ([]byte, error)
	GetItem(ctx context.Context, key string) (remora.Item, error)
	GetInto(ctx context.Context, key string, dst []byte) (remora.Item, error)
	Set(ctx context.Context, key string, value []byte, ttl time.Duration) (uint64, error)
	Add(ctx context.Context, key string, value []byte, ttl time.Duration) (uint64, error)
	Replace(ctx context.Context, key string, value []byte, ttl time.Duration) (uint64, error)
	CAS(ctx context.Context, key string, old remora.Item, value []byte, ttl time.Duration) (uint64, error)
	Put(ctx context.Context, key string, e remora.Entry, cond remora.Condition) (uint64, error)
	Delete(ctx context.Context, key string) error
	DeleteVersion(ctx context.Context, key string, version uint64) error
	Touch(ctx context.Context, key string, ttl time.Duration) error
	Incr(ctx context.Context, key string, delta int64) (int64, error)
}

var (
	_ ops = (*remora.Client)(nil)
	_ ops = (*remora.Session)(nil)
)

// eachWay runs f on a client and on a session of every fabric.
func eachWay(t *testing.T, f func(t *testing.T, o ops), changes ...change) {
	for _, name := range fabrics {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, name)
			r.serve(append([]change{cores(2)}, changes...)...)
			c := r.dial()
			t.Run("client", func(t *testing.T) { f(t, c) })
			t.Run("session", func(t *testing.T) { f(t, session(t, c)) })
			t.Run("batching session", func(t *testing.T) { f(t, session(t, c, remora.WithBatch(8), remora.WithWindow(2))) })
			t.Run("pushed", func(t *testing.T) { f(t, r.dial(remora.WithPath(remora.PathReply))) })
			t.Run("herd", func(t *testing.T) { f(t, r.dial(remora.WithPath(remora.PathHerd))) })
			t.Run("herd session", func(t *testing.T) { f(t, session(t, c, remora.WithPath(remora.PathHerd))) })
			t.Run("sendrecv", func(t *testing.T) { f(t, r.dial(remora.WithPath(remora.PathSendRecv))) })
			t.Run("sendrecv session", func(t *testing.T) { f(t, session(t, c, remora.WithPath(remora.PathSendRecv))) })
		})
	}
}

// want checks the error of an operation.
func want(t *testing.T, what string, err, wanted error) {
	t.Helper()
	if !errors.Is(err, wanted) {
		t.Errorf("%s: %v, want %v", what, err, wanted)
	}
}

func TestOperations(t *testing.T) {
	eachWay(t, func(t *testing.T, o ops) {
		ctx := testContext(t)
		for _, key := range []string{"a", "", "key\x00with\xffbytes", strings.Repeat("k", remora.MaxKey)} {
			testKey(ctx, t, o, key)
		}
	})
}

// testKey does everything with one key that is not there, and leaves it so.
func testKey(ctx context.Context, t *testing.T, o ops, key string) {
	t.Helper()
	_, err := o.Get(ctx, key)
	want(t, "Get of nothing", err, remora.ErrNotFound)
	_, err = o.Replace(ctx, key, []byte("x"), 0)
	want(t, "Replace of nothing", err, remora.ErrNotFound)
	_, err = o.CAS(ctx, key, remora.Item{Version: 1}, []byte("x"), 0)
	want(t, "CAS of nothing", err, remora.ErrNotFound)
	want(t, "Delete of nothing", o.Delete(ctx, key), remora.ErrNotFound)
	want(t, "Touch of nothing", o.Touch(ctx, key, time.Second), remora.ErrNotFound)
	_, err = o.Incr(ctx, key, 1)
	want(t, "Incr of nothing", err, remora.ErrNotFound)

	v1, err := o.Add(ctx, key, []byte("one"), 0)
	if err != nil || v1 == 0 {
		t.Fatalf("Add: %d, %v", v1, err)
	}
	_, err = o.Add(ctx, key, []byte("two"), 0)
	want(t, "second Add", err, remora.ErrExists)
	v2, err := o.Replace(ctx, key, []byte("two"), time.Hour)
	if err != nil || v2 <= v1 {
		t.Fatalf("Replace: %d after %d, %v", v2, v1, err)
	}
	_, err = o.CAS(ctx, key, remora.Item{Version: v1}, []byte("three"), 0)
	want(t, "CAS of an old version", err, remora.ErrChanged)
	_, err = o.Incr(ctx, key, 1)
	want(t, "Incr of a word", err, remora.ErrNotNumber)
	v3, err := o.Put(ctx, key, remora.Entry{Value: []byte("three"), Flags: 0xDEADBEEF, TTL: time.Minute}, remora.IfVersion(v2))
	if err != nil {
		t.Fatalf("CAS: %v", err)
	}
	item, err := o.GetItem(ctx, key)
	if err != nil || string(item.Value) != "three" || item.Version != v3 || item.Flags != 0xDEADBEEF || item.TTL != time.Minute {
		t.Fatalf("GetItem: %+v, %v", item, err)
	}
	testNumbers(ctx, t, o, key)

	v4, err := o.Set(ctx, key, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	if value, err := o.Get(ctx, key); err != nil || len(value) != 0 {
		t.Fatalf("Get of an empty value: %q, %v", value, err)
	}
	want(t, "DeleteVersion of an old version", o.DeleteVersion(ctx, key, v3), remora.ErrChanged)
	want(t, "DeleteVersion", o.DeleteVersion(ctx, key, v4), nil)
	want(t, "DeleteVersion of nothing", o.DeleteVersion(ctx, key, v4), remora.ErrNotFound)
	if _, err := o.Set(ctx, key, []byte("again"), 0); err != nil {
		t.Fatal(err)
	}
	want(t, "Delete", o.Delete(ctx, key), nil)
}

// testNumbers counts and touches an item.
func testNumbers(ctx context.Context, t *testing.T, o ops, key string) {
	t.Helper()
	if _, err := o.Put(ctx, key, remora.Entry{Value: []byte("-5"), Flags: 3, TTL: time.Hour}, remora.Always()); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct{ delta, sum int64 }{{7, 2}, {0, 2}, {-3, -1}, {math.MinInt64 + 1, math.MinInt64}, {math.MaxInt64, -1}} {
		if sum, err := o.Incr(ctx, key, step.delta); err != nil || sum != step.sum {
			t.Errorf("Incr by %d: %d, %v; want %d", step.delta, sum, err, step.sum)
		}
	}
	if err := o.Touch(ctx, key, 1500*time.Microsecond); err != nil {
		t.Fatal(err)
	}
	item, err := o.GetItem(ctx, key)
	if err != nil || string(item.Value) != "-1" || item.Flags != 3 || item.TTL != 2*time.Millisecond {
		t.Errorf("after Incr and Touch: %+v, %v", item, err)
	}
	if err := o.Touch(ctx, key, 0); err != nil {
		t.Fatal(err)
	}
	if item, err := o.GetItem(ctx, key); err != nil || item.TTL != 0 {
		t.Errorf("after Touch with 0: %+v, %v", item, err)
	}
}

func TestTimeToLive(t *testing.T) {
	r := newRig(t, "loop")
	r.serve()
	c, ctx := r.dial(), testContext(t)
	for _, o := range []ops{c, session(t, c)} {
		for ttl, kept := range map[time.Duration]time.Duration{
			0: 0, 1: time.Millisecond, time.Millisecond: time.Millisecond, time.Millisecond + 1: 2 * time.Millisecond,
			math.MaxInt64: time.Duration(math.MaxInt64).Truncate(time.Millisecond),
		} {
			if _, err := o.Set(ctx, "k", nil, ttl); err != nil {
				t.Errorf("Set for %v: %v", ttl, err)
			}
			if item, err := o.GetItem(ctx, "k"); err != nil || item.TTL != kept {
				t.Errorf("Set for %v is kept for %v, want %v: %v", ttl, item.TTL, kept, err)
			}
		}
		_, err := o.Set(ctx, "k", nil, -1)
		want(t, "Set with a negative time", err, remora.ErrInvalid)
		want(t, "Touch with a negative time", o.Touch(ctx, "k", -time.Second), remora.ErrInvalid)
	}
}

func TestSizes(t *testing.T) {
	const most = 10_000
	eachWay(t, func(t *testing.T, o ops) {
		ctx := testContext(t)
		for _, n := range []int{0, 1, 200, 1900, 1990, 2000, 2020, 2040, 2048, 4096, 8191, 8192, 8193, most - 1, most} {
			value := bytes.Repeat([]byte{byte(n)}, n)
			if _, err := o.Set(ctx, "k", value, 0); err != nil {
				t.Fatalf("Set of %d bytes: %v", n, err)
			}
			got, err := o.GetInto(ctx, "k", []byte("head"))
			if err != nil || string(got.Value[:4]) != "head" || !bytes.Equal(got.Value[4:], value) {
				t.Fatalf("GetInto of %d bytes: %d, %v", n, len(got.Value), err)
			}
		}
		_, err := o.Set(ctx, "k", make([]byte, most+1), 0)
		want(t, "too long a value", err, remora.ErrTooLarge)
		if !strings.Contains(err.Error(), "10001") || !strings.Contains(err.Error(), "10000") {
			t.Errorf("%q does not tell size and limit", err)
		}
		if item, err := o.GetItem(ctx, "k"); err != nil || len(item.Value) != most {
			t.Errorf("a Set that was refused left %d bytes, %v", len(item.Value), err)
		}
	}, maxValue(most))
}

func TestArguments(t *testing.T) {
	r := newRig(t, "loop")
	s := r.serve()
	c := r.dial()
	long := strings.Repeat("k", remora.MaxKey+1)
	for _, o := range []ops{c, session(t, c)} {
		ctx := testContext(t)
		_, err := o.Get(ctx, long)
		want(t, "Get", err, remora.ErrTooLarge)
		_, err = o.Set(ctx, long, nil, 0)
		want(t, "Set", err, remora.ErrTooLarge)
		_, err = o.Incr(ctx, long, 1)
		want(t, "Incr", err, remora.ErrTooLarge)
		want(t, "Delete", o.Delete(ctx, long), remora.ErrTooLarge)
		want(t, "Touch", o.Touch(ctx, long, 0), remora.ErrTooLarge)
		for _, version := range []uint64{0, 1 << 48, math.MaxUint64} {
			_, err = o.CAS(ctx, "k", remora.Item{Version: version}, nil, 0)
			want(t, "CAS with no version", err, remora.ErrInvalid)
			want(t, "DeleteVersion with none", o.DeleteVersion(ctx, "k", version), remora.ErrInvalid)
		}
	}
	if n := s.count(2) + s.count(3); n != 0 {
		t.Errorf("%d requests with wrong arguments were sent", n)
	}
}
