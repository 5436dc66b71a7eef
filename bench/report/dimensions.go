package report

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/remora-kv/remora/bench/cache"
	"github.com/remora-kv/remora/bench/out"
)

// dimension is a parameter of cases: a field of a row, by its name in JSON.
type dimension struct {
	field string
	name  string // for people
	// show writes a value of it; nil: as it is.
	show func(any) string
	// target says that it belongs to what is measured, and not to the load.
	target bool
	// bare values are clear without the name.
	bare bool
}

// dimensions are all of them, those that tell most first. One that rows do not have is
// left out.
var dimensions = []dimension{
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
	{field: "preset", name: "preset", bare: true},
	{field: "workload", name: "workload", bare: true},
	{field: "trace", name: "trace"},
	{field: "get_pct", name: "gets", show: percent},
	{field: "rmw_pct", name: "read-modify-writes", show: percent},
	{field: "insert_pct", name: "inserts", show: percent},
	{field: "dist", name: "keys", bare: true},
	{field: "theta", name: "theta"},
	{field: "scan_pct", name: "scans", show: percent},
	{field: "fill", name: "fill"},
	{field: "keys", name: "keys", show: func(v any) string { return out.SI(number(v)) }},
	{field: "key_dist", name: "key sizes", bare: true},
	{field: "key_size", name: "key", show: bytes},
	{field: "value_dist", name: "value sizes", bare: true},
	{field: "value_size", name: "value", show: bytes},
	{field: "cache_pct", name: "cache", show: percent},
	{field: "processes", name: "processes"},
	{field: "clients", name: "clients"},
	{field: "goroutines", name: "goroutines"},
	{field: "rate", name: "rate", show: func(v any) string { return out.SI(number(v)) + "/s" }},
	{field: "placement", name: "placement"},
	{field: "window", name: "window"},
	{field: "batch", name: "batch"},
	{field: "cores", name: "cores"},
	{field: "retries", name: "R"},
	{field: "fetch_size", name: "F", show: bytes},
	{field: "memory", name: "memory", show: bytes},
	{field: "seed", name: "seed"},
}

func percent(v any) string { return fmt.Sprintf("%g %%", number(v)) }
func bytes(v any) string   { return out.Bytes(int(number(v))) }

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

// fields finds the fields of a row by their names in JSON.
var fields = func() map[string]int {
	m := make(map[string]int)
	typ := reflect.TypeFor[cache.Row]()
	for i := range typ.NumField() {
		if name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ","); name != "" {
			m[name] = i
		}
	}
	return m
}()

// of writes the value of a dimension of a row; "" where there is nothing to be said.
func (d *dimension) of(r *cache.Row) string {
	i, ok := fields[d.field]
	if !ok {
		return ""
	}
	v := reflect.ValueOf(r).Elem().Field(i)
	if v.IsZero() && d.field != "get_pct" {
		return ""
	}
	if d.show != nil {
		return d.show(v.Interface())
	}
	return fmt.Sprint(v.Interface())
}

// part is a value as it is in a label.
func (d *dimension) part(value string) string {
	if d.bare || value == "" {
		return value
	}
	return d.name + " " + value
}
