//go:build rdma

package verbs

import (
	"fmt"
	"strconv"

	"github.com/remora-kv/remora/fabric"
)

// How an RC queue pair tries, unless the address says otherwise: 4.096 us << ackTimeout
// for each of ackRetries attempts and one more, together half a second. Adapters may take
// up to four times as long. More than 6 attempts some take for "without end".
const (
	ackTimeout = 14
	ackRetries = 6
)

// Tuning is how the queue pairs of a device are made: the numbers that an address gives by
// the names of their options. What it does not give is the default.
type Tuning struct {
	// SL is the service level of packets (InfiniBand), or their priority (RoCE).
	SL Setting
	// TClass is the traffic class of packets: on RoCE v2 the byte of the IP header whose
	// upper six bits are the DSCP. It is in packets that have a global route header: all of
	// RoCE, and those between subnets of InfiniBand.
	TClass Setting
	// PKey is the index of the partition key in the table of the port.
	PKey Setting
	// Vector is the completion vector of all completion queues. By default they take the
	// vectors of the device in turn, so that the cores of a server take different ones.
	Vector Setting
	// Inline is the most inline data of a request, in bytes: Limits.MaxInline.
	Inline Setting
	// Timeout and Retry are the time for an acknowledgement, 4.096 us << Timeout, and how
	// often a request is sent again.
	Timeout, Retry Setting
}

// Setting is a number that an address may give.
type Setting struct {
	value int
	given bool
}

// Or returns the number, or otherwise the default.
func (s Setting) Or(otherwise int) int {
	if s.given {
		return s.value
	}
	return otherwise
}

// tunings are the options of an address that are numbers. What the adapter has to say
// about them checkTuning asks.
var tunings = []struct {
	name        string
	least, most int
	what        string
	of          func(*Tuning) *Setting
}{
	{"sl", 0, 15, "a service level", func(t *Tuning) *Setting { return &t.SL }},
	{"tclass", 0, 255, "a traffic class (the DSCP times 4)", func(t *Tuning) *Setting { return &t.TClass }},
	{"pkey", 0, 65535, "the index of a partition key", func(t *Tuning) *Setting { return &t.PKey }},
	{"vector", 0, 65535, "a completion vector", func(t *Tuning) *Setting { return &t.Vector }},
	{"inline", 0, 4096, "a number of bytes of inline data", func(t *Tuning) *Setting { return &t.Inline }},
	{"timeout", 1, 31, "a time for acknowledgements (4.096 us << timeout)", func(t *Tuning) *Setting { return &t.Timeout }},
	{"retry", 0, 7, "a number of times to send a request again", func(t *Tuning) *Setting { return &t.Retry }},
}

// optionNames returns the options of an address.
func optionNames() []string {
	names := []string{"device", "port", "gid", "cm"}
	for _, o := range tunings {
		names = append(names, o.name)
	}
	return names
}

// tuningOf reads the numbers of an address.
func tuningOf(addr fabric.Addr) (t Tuning, err error) {
	for _, o := range tunings {
		if !addr.Options.Has(o.name) {
			continue
		}
		text := addr.Options.Get(o.name)
		n, err := strconv.Atoi(text)
		if err != nil || n < o.least || n > o.most {
			return t, fmt.Errorf("fabric: verbs: %s=%s in %v is not %s; give a number from %d to %d: %w",
				o.name, text, addr, o.what, o.least, o.most, fabric.ErrInvalid)
		}
		*o.of(&t) = Setting{n, true}
	}
	return t, nil
}

// agrees reports whether all that an address asks for is so on a device with tuning d.
func (t *Tuning) agrees(d *Tuning) bool {
	for _, o := range tunings {
		if asked := *o.of(t); asked.given && asked != *o.of(d) {
			return false
		}
	}
	return true
}

// checkTuning asks the adapter about numbers whose range it decides.
func (a *adapter) checkTuning(t *Tuning) error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("port %d: %s: %w", a.choice.Port, fmt.Sprintf(format, args...), fabric.ErrInvalid)
	}
	if sl := t.SL.Or(0); a.port.ethernet && sl > 7 {
		return bad("sl=%d: it is Ethernet, which has the priorities 0 to 7", sl)
	}
	if v := t.Vector.Or(0); v >= a.vectors {
		return bad("vector=%d: the device has the completion vectors 0 to %d", v, a.vectors-1)
	}
	index := t.PKey.Or(0)
	if index >= a.port.pkeys {
		return bad("pkey=%d: its table has the indexes 0 to %d", index, a.port.pkeys-1)
	}
	if key, err := a.ctx.pkey(a.choice.Port, index); t.PKey.given && (err != nil || key == 0) {
		return bad("pkey=%d: there is no partition key; cat /sys/class/infiniband/%s/ports/%d/pkeys/* lists them",
			index, a.choice.Device, a.choice.Port)
	}
	return nil
}

// reliability returns how an RC queue pair tries.
func (t *Tuning) reliability(rnr rnrPlan) reliability {
	return reliability{timeout: t.Timeout.Or(ackTimeout), retries: t.Retry.Or(ackRetries), rnrRetries: rnr.retries}
}
