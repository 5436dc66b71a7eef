package kvl

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/host"
	"github.com/remora-kv/remora/fabric/provider"
	"github.com/remora-kv/remora/kvl/app"
)

// The applications, and the paths.
const (
	AppItem   = "item"
	AppMatch  = "match"
	AppPage   = "page"
	AppSearch = "search"

	PathLinks     = "links"
	PathLookup    = "lookup"
	PathRFP       = "rfp"
	PathBatch     = "batch"
	PathMemcached = "memcached"

	// Of a search, with one read at a time.
	PathLinksOne     = PathLinks + one
	PathRFPOne       = PathRFP + one
	PathMemcachedOne = PathMemcached + one

	// Of a search, with a worker on the client's CPU and one on the server's.
	PathLinksTwo = PathLinks + two

	one = "-one"
	two = "-two"
)

// Apps returns all applications, Paths all paths.
func Apps() []string { return []string{AppItem, AppMatch, AppPage, AppSearch} }

// Paths returns all paths.
func Paths() []string {
	return []string{
		PathLinks, PathLinksOne, PathLinksTwo, PathLookup, PathRFP, PathRFPOne, PathBatch, PathMemcached, PathMemcachedOne,
	}
}

// Config says what to measure. Zero values mean the defaults.
type Config struct {
	Apps, Paths []string // default all
	Fabric      string   // default shm
	// Scale is the size of the data, in those of the paper; default 1.
	Scale float64
	// Window is how many reads are in flight; default 16.
	Window int
	// Ops is how many items, positions or pages are read in a trial, Users how many users
	// a search visits at most, and MemcachedUsers how many one through memcached does: a
	// part stands for the whole there. Defaults 20000, all, and 20000.
	Ops, Users, MemcachedUsers int
	Trials                     int // default 3
	// Placements say what client and server share their CPUs with, as host.ParseSharing reads
	// it; default CPUs of their own.
	Placements []string
	Seed       uint64
}

// Defaults of Config.
const (
	DefaultFabric = provider.Shm
	DefaultWindow = 16
	DefaultOps    = 20_000
	DefaultTrials = 3
)

func (c *Config) normalize() error {
	var f bench.Faults
	if len(c.Apps) == 0 {
		c.Apps = Apps()
	}
	if len(c.Paths) == 0 {
		c.Paths = Paths()
	}
	f.OneOf("--app", c.Apps, Apps())
	f.OneOf("--path", c.Paths, Paths())
	c.Fabric = cmp.Or(c.Fabric, DefaultFabric)
	c.Scale = cmp.Or(c.Scale, 1)
	if !(c.Scale > 0 && c.Scale <= 16) {
		f.Add("a scale of %g: it can be up to 16", c.Scale)
	}
	c.Window = cmp.Or(c.Window, DefaultWindow)
	c.Ops = cmp.Or(c.Ops, DefaultOps)
	c.MemcachedUsers = cmp.Or(c.MemcachedUsers, DefaultOps)
	c.Trials = cmp.Or(c.Trials, DefaultTrials)
	c.Seed = cmp.Or(c.Seed, 1)
	bench.OrDefault(&c.Placements, host.ShareOwn)
	ours := slices.ContainsFunc(c.Paths, func(p string) bool { return !strings.HasPrefix(p, PathMemcached) })
	c.Placements = f.Placements(c.Placements, true, c.Fabric != provider.Loop || !ours)
	f.Between("window", c.Window, 1, 1024)
	f.Between("ops", c.Ops, 1, 1<<30)
	f.Between("trials", c.Trials, 1, 1000)
	return f.Err()
}

// Case is one application by one path.
type Case struct {
	App, Path, Fabric string
	Graph             app.Graph
	Shop              app.Shop
	City              app.City
	Window, Ops       int
	Users             int // visited by a search
	Placement         string
}

// Title names the case.
func (c *Case) Title() string {
	s := fmt.Sprintf("%s by %s on %s", c.App, c.Path, c.Fabric)
	if !bench.Sharing(c.Placement).Own() {
		s += " placement " + c.Placement
	}
	return s
}

// by reports whether the case goes by a path, however many reads and workers it has.
func (c *Case) by(path string) bool {
	return c.Path == path || c.Path == path+one || c.Path == path+two
}

// plan returns the cases of an application in a placement.
func (c *Config) plan(name, placement string) (cases []Case) {
	for _, path := range c.Paths {
		alone := strings.HasSuffix(path, one)
		ofSearch := alone || path == PathLinksTwo
		if path == PathLookup && name != AppItem || path == PathBatch && name == AppItem || ofSearch && name != AppSearch {
			continue
		}
		k := Case{App: name, Path: path, Fabric: c.Fabric, Window: c.Window, Ops: c.Ops, Users: c.Users, Placement: placement}
		k.Graph, k.Shop, k.City = app.PaperGraph(), app.PaperShop(), app.PaperCity()
		k.Graph.Seed, k.Shop.Seed, k.City.Seed = c.Seed, c.Seed, c.Seed
		k.resize(c.Scale)
		if alone {
			k.Window = 1
		}
		if k.by(PathMemcached) {
			k.Fabric = "tcp"
			k.Users = c.MemcachedUsers
			if c.Users != 0 {
				k.Users = min(k.Users, c.Users)
			}
		}
		cases = append(cases, k)
	}
	return cases
}

// resize makes data smaller or larger.
func (c *Case) resize(scale float64) {
	of := func(n int) int { return max(int(float64(n)*scale), 32) }
	c.Graph.Nodes, c.Graph.Edges = of(c.Graph.Nodes), of(c.Graph.Edges)
	c.Shop.Products, c.Shop.Reviews, c.Shop.Users = of(c.Shop.Products), of(c.Shop.Reviews), of(c.Shop.Users)
	c.City.Side = max(int(float64(c.City.Side)*math.Sqrt(scale)), 8)
}
