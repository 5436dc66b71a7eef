// Package app has the three applications by which the KELI paper compares links with keys,
// and the data for them: a breadth-first search over followers, a page of a product with
// its reviews, and the matching of a position to a street.
//
// # Data
//
// Graph, Shop and City are made by a seed, item by item, without holding them: so the sizes
// of the paper, 1 M users with 22 M edges, 12 k products with 200 k reviews and a map of
// 6 M items, start at once. The same data is loaded in two forms: with links into a
// kvl.Builder (Links), and as plain values, in which the key of an item stands where a link
// would, into any key-value store (Values). Lists of both are cut at the same lengths: of
// values with a list of more than ChunkKeys keys, the others are in values of their own,
// named by the key of the next one.
//
// # Applications
//
// Each is written twice, once on a keli.Session and once on Store, a key-value store that
// gets several values at a time. Both do the same reads in the same order of dependence and
// return the same result, which a test compares with what the generator says.
package app
