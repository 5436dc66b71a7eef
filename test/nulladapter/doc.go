// Package nulladapter is a queue pair and a completion queue of libibverbs without hardware. The
// adapter takes every request and completes as many as it is told to, so that tests of fabric/verbs
// run without a device and its benchmarks measure what Go adds. It is built with -tags rdma.
//
// Handles and memory are integers, as in package verbs: the memory is outside the Go heap and in the
// layout of the library.
package nulladapter
