// Package workload makes the operations of a key-value benchmark: which key, what is
// done with it, and which value, with a check of what comes back.
//
// # Rules
//
//	W1  Everything is computed: there are no tables of keys, ranks or values, so
//	    that a client's caches hold what a client's caches hold, and a hundred
//	    million keys cost nothing.
//	W2  A stream is a function of the seed and of the number of its worker: the
//	    same two make the same operations.
//	W3  Keys and values, and their sizes, are functions of the index of a key alone (a
//	    value also of a stamp), and not of the seed: whoever loads and whoever gets agree.
//	W4  Ranks are scattered over the indexes by a permutation: the most popular
//	    keys do not lie side by side in memory because they were stored one after
//	    the other, and no two ranks share a key.
//	W5  A value says which key it belongs to and which put it came from, in every
//	    word that is looked at. One that is cut, of another key, or mixed of two
//	    puts is found out.
//	W6  Workers that insert keys have a class of them each, and draw none before it was
//	    stored: no two insert the same, and no get of a key that was never there is a miss.
//
// # Popularity
//
// Zipf gives rank k, from 1, the probability k^-theta / zeta(n, theta), exactly:
// by rejection-inversion (Hörmann and Derflinger, 1996), which needs no sum over
// all ranks, unlike the method of Gray et al. that YCSB uses, and takes any theta
// above 0. A draw takes some 50 ns, a uniform one 7.
//
// Latest is Zipf over how recently a key was inserted, as YCSB has it, with the same exact
// probabilities while their number grows. Hotspot has two classes of keys, each uniform.
//
// A scan is what a cache must survive: it touches every key once before it touches one
// again, and what it touches is worth no more for that. Mixed into popular keys it shows
// what an eviction makes of it.
package workload
