package load

import "math"

// The laws of sizes, and where they come from.
//
// etc is after Facebook's pool of that name (Atikoglu et al., Workload Analysis of a
// Large-Scale Key-Value Store, SIGMETRICS 2012, section 5): generalized Pareto values,
// of 329 bytes in the mean and with a long tail, and keys by the generalized extreme value
// distribution, of 37. The paper has a table of its own for values up to 14 bytes, which
// is left out. Its tail has no end: keys are cut at memcached's 250 bytes, and values at
// 64 KiB, beyond which are 2 of a million.
//
// weibo is after the texts of the RFP and RF-RPC papers: 1 to 899 bytes, 43 in the mean,
// and 331 of 50 million above 512. These three are all that is told of them. Of all
// distributions over whole numbers with a given mean the geometric one assumes the least,
// and it has the third of them by itself: of 50 million it puts 293 above 512.
var (
	etcKeys     = extreme{at: 30.7984, scale: 8.20449, shape: 0.078688}
	etcValues   = pareto{scale: 214.476, shape: 0.348238}
	weiboValues = fading{rate: -math.Log1p(-1.0 / weiboMean)}
)

const (
	etcLeastKey  = 8 // of shorter ones there would not be enough; one in 10^10 is
	etcMostKey   = 250
	etcMostValue = 64 << 10
	weiboMean    = 43
	weiboMost    = 899
)

// flat is uniform between two ends.
type flat struct{ from, to float64 }

func (l flat) below(x float64) float64    { return (x - l.from) / (l.to - l.from) }
func (l flat) quantile(u float64) float64 { return l.from + u*(l.to-l.from) }

// fading is exponential; of whole bytes it is geometric.
type fading struct{ rate float64 }

func (l fading) below(x float64) float64    { return -math.Expm1(-l.rate * x) }
func (l fading) quantile(u float64) float64 { return -logarithm(max(1-u, tiny)) / l.rate }

// pareto is the generalized Pareto distribution from 0 on.
type pareto struct{ scale, shape float64 }

func (l pareto) below(x float64) float64 { return 1 - math.Pow(1+l.shape*x/l.scale, -1/l.shape) }

func (l pareto) quantile(u float64) float64 {
	return (exponential(-l.shape*logarithm(max(1-u, tiny))) - 1) * l.scale / l.shape
}

// extreme is the generalized extreme value distribution.
type extreme struct{ at, scale, shape float64 }

func (l extreme) below(x float64) float64 {
	return math.Exp(-math.Pow(1+l.shape*(x-l.at)/l.scale, -1/l.shape))
}

func (l extreme) quantile(u float64) float64 {
	y := max(-logarithm(max(u, tiny)), tiny)
	return l.at + (exponential(-l.shape*logarithm(y))-1)*l.scale/l.shape
}
