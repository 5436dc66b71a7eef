package papers

import (
	"github.com/remora-kv/remora/bench/target/cache"
	"github.com/remora-kv/remora/bench/target/kvl"
	"github.com/remora-kv/remora/bench/target/verbs"
)

const keliPaper = "KELI: key-value-links (KVL) over RDMA"

const keliOurs = "RDMA-Memcached is memcached over loopback TCP; rfp and batch are the same keys through our cache; data is made by the seed."

func keliFigures() []Figure {
	app := func(name, number, app, title, found, ours string) Figure {
		paths := []string{kvl.PathLinks, kvl.PathRFP, kvl.PathBatch, kvl.PathMemcached}
		if app == kvl.AppItem {
			paths = []string{kvl.PathLinks, kvl.PathLookup, kvl.PathRFP, kvl.PathMemcached}
		}
		return Figure{
			Name: name, Number: number, Title: title, Found: found, Ours: keliOurs + ours, X: "application",
			Shows: []Quantity{mean, p95}, Points: func(Size) []Point { return []Point{{X: app, work: kvlWork{app, paths}}} },
		}
	}
	return []Figure{
		{
			Name: "keli-fig3", Number: "Figure 3", Title: "latency of an item by RDMA READ and by a lookup of HERD, over its size",
			Found: "a lookup is much slower than a READ: following links can save up to 50 % of the latency.",
			Ours:  "a READ of that size (bench verbs) and a get on path herd.", X: "bytes", Shows: []Quantity{mean, p50}, Points: keliFig3,
		},
		app("keli-fig8", "Figure 8", kvl.AppItem, "latency of chasing a link and of looking up an item",
			"KELI's lookup by SEND and RECV is three to four times slower than RDMA-Memcached's; a lookup takes twice as long as chasing a link.", ""),
		app("keli-fig9", "Figure 9", kvl.AppMatch, "map matching, about six million items of Ho Chi Minh City",
			"KELI is twice as fast as RDMA-Memcached in the mean, and about 2.5 times at the 95th percentile.", ""),
		app("keli-fig10", "Figure 10", kvl.AppPage, "pages of about 12 thousand products with 200 thousand reviews",
			"pages are made 50 % faster.", ""),
		app("keli-fig11", "Figure 11", kvl.AppSearch, "breadth-first search in a graph of a million users and 22 million edges",
			"it runs 75 % faster.", " A latency is that of one user, in the mean."),
	}
}

func keliFig3(Size) (out []Point) {
	for _, n := range []int{16, 64, 256, 512, 1000} {
		read := verbsWork(verbs.Config{Tests: []string{"read"}, Transport: "rc", Sizes: []int{n}})
		lookup := cacheWork(cache.Config{Paths: []string{cache.PathHerd}, ValueSizes: []int{n}, GetPcts: []float64{100}})
		out = append(out, Point{Series: "RDMA READ", X: itoa(n), work: read}, Point{Series: "HERD", X: itoa(n), work: lookup})
	}
	return out
}
