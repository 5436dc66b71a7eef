// Package cpus chooses the CPUs of a benchmark: which the client's threads are
// pinned to and which the server's, apart from each other. Where that cannot be
// done as it should, it says so in words that belong beside the numbers.
package cpus
