package preset

import (
	"fmt"

	"github.com/remora-kv/remora/bench/cache"
	"github.com/remora-kv/remora/bench/call"
)

// target is a series of a figure: what stands here for a system of the paper.
type target struct{ name, path string }

// grid makes a point for every target at every value.
func grid[V any](targets []target, values []V, set func(c *cache.Config, v V)) (out []Point) {
	for _, v := range values {
		for _, t := range targets {
			c := cache.Config{Paths: []string{t.path}}
			set(&c, v)
			out = append(out, Point{Series: t.name, X: fmt.Sprint(v), work: cacheWork(c)})
		}
	}
	return out
}

// calls likewise, of bench rpc.
func calls[V any](targets []target, values []V, set func(c *call.Config, v V)) (out []Point) {
	for _, v := range values {
		for _, t := range targets {
			c := call.Config{Paths: []string{t.path}}
			set(&c, v)
			out = append(out, Point{Series: t.name, X: fmt.Sprint(v), work: callWork(c)})
		}
	}
	return out
}
