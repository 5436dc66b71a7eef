// Package app contains the three applications with which the KELI paper compares links and keys, and
// generators of their data: a breadth-first search over followers, a product page with reviews, and
// the matching of a position to a street.
//
// # Data
//
// Graph, Shop and City generate their items from a seed, one after the other, without holding them
// in memory. The sizes of the paper are 1 M users with 22 M edges, 12 k products with 200 k reviews,
// and a map of 6 M items. The same data comes in two forms: Links adds items with links to a
// kvl.Builder, and Values writes plain values, with keys in place of links, to any key-value store.
// Both split lists at the same lengths: if a list has more than ChunkKeys keys, the rest is in
// further values, each with the key of the next.
//
// # Applications
//
// Each application is written twice, for a keli.Session and for Store, a key-value store that gets
// several values at a time. Both make the same reads with the same dependencies and return the same
// result, which a test compares with the generator.
package app
