package report

import (
	"fmt"
	"reflect"

	"github.com/remora-kv/remora/bench/out"
)

// dimension is a parameter of cases: a field of a row, by its name in JSON.
type dimension struct {
	field string
	name  string // for people
	// show writes a value of it; nil: as it is.
	show func(any) string
	// unit is that of its numbers along an axis.
	unit out.Unit
	// target says that it belongs to what is measured, and not to the load.
	target bool
	// kept values are in all labels if cases differ in them, though others tell the same cases apart.
	kept bool
	// bare values are clear without the name.
	bare bool
}

// dimensions are all of them, those that tell most first. One that rows do not have is
// left out.
var dimensions = []dimension{
	{field: "series", name: "series", target: true, bare: true},
	{field: "test", name: "test", target: true, bare: true},
	{field: "path", name: "path", target: true, bare: true},
	{field: "fabric", name: "fabric", target: true, bare: true},
	{field: "engine", name: "engine", target: true, bare: true},
	{field: "prefetch", name: "prefetch", target: true},
	{field: "links", name: "links", target: true},
	{field: "recency", name: "recency", target: true},
	{field: "client", name: "client", target: true},
	{field: "protocol", name: "protocol", target: true},
	{field: "poll", name: "poll", target: true},
	{field: "server_version", name: "version", target: true},
	{field: "transport", name: "transport", target: true, bare: true},
	{field: "reply_transport", name: "replies", target: true},
	{field: "app", name: "application", bare: true},
	{field: "preset", name: "preset", bare: true},
	{field: "workload", name: "workload", bare: true},
	{field: "trace", name: "trace"},
	{field: "x", name: "at", bare: true},
	{field: "size", name: "size", show: size, unit: out.Size},
	{field: "result_size", name: "result", show: size, unit: out.Size},
	{field: "process_us", name: "process time", show: short(out.Micro), unit: out.Micro},
	{field: "get_pct", name: "gets", show: percent, unit: out.Hundredth},
	{field: "rmw_pct", name: "read-modify-writes", show: percent, unit: out.Hundredth},
	{field: "insert_pct", name: "inserts", show: percent, unit: out.Hundredth},
	{field: "dist", name: "keys", bare: true},
	{field: "theta", name: "theta"},
	{field: "scan_pct", name: "scans", show: percent, unit: out.Hundredth},
	{field: "fill", name: "fill"},
	{field: "keys", name: "keys", show: short(out.Count), unit: out.Count},
	{field: "key_dist", name: "key sizes", bare: true},
	{field: "key_size", name: "key", show: size, unit: out.Size},
	{field: "value_dist", name: "value sizes", bare: true},
	{field: "value_size", name: "value", show: size, unit: out.Size},
	{field: "cache_pct", name: "cache", show: percent, unit: out.Hundredth},
	{field: "processes", name: "processes"},
	{field: "clients", name: "clients"},
	{field: "threads", name: "threads"},
	{field: "connected", name: "idle connections"},
	{field: "qps", name: "queue pairs"},
	{field: "goroutines", name: "goroutines"},
	{field: "rate", name: "rate", show: short(out.PerSecond), unit: out.PerSecond},
	{field: "placement", name: "placement"},
	{field: "window", name: "window"},
	{field: "batch", name: "batch", kept: true},
	{field: "cores", name: "cores"},
	{field: "accesses", name: "accesses"},
	{field: "inline", name: "inline"},
	{field: "signaled", name: "signaled"},
	{field: "no_inline", name: "not inlined"},
	{field: "signal_all", name: "all signaled"},
	{field: "sleep_after_us", name: "sleeps after", show: short(out.Micro), unit: out.Micro},
	{field: "limit_us", name: "limit", show: short(out.Micro), unit: out.Micro},
	{field: "retries", name: "R"},
	{field: "fetch_size", name: "F", show: size, unit: out.Size},
	{field: "memory", name: "memory", show: size, unit: out.Size},
	{field: "seed", name: "seed"},
}

// short writes what was chosen, and not measured: with as many digits as it has.
func short(u out.Unit) func(any) string { return func(v any) string { return u.Tick(number(v)) } }

func percent(v any) string { return fmt.Sprintf("%g %%", number(v)) }
func size(v any) string    { return out.Bytes(int(number(v))) }

// number is a value as one; 0 where it is none.
func number(v any) float64 {
	switch x := reflect.ValueOf(v); {
	case x.CanInt():
		return float64(x.Int())
	case x.CanUint():
		return float64(x.Uint())
	case x.CanFloat():
		return x.Float()
	}
	return 0
}

// of writes the value of a dimension of a row; "" where there is nothing to be said.
func (d *dimension) of(t *trial) string {
	v, ok := t.fields[d.field]
	if !ok || reflect.ValueOf(v).IsZero() && d.field != "get_pct" {
		return ""
	}
	if d.show != nil {
		return d.show(v)
	}
	return fmt.Sprint(v)
}

// part is a value as it is in a label.
func (d *dimension) part(value string) string {
	if d.bare || value == "" {
		return value
	}
	return d.name + " " + value
}
