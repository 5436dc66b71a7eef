//go:build race

package server_test

// raceBuild: memory of clients is on the heap, and the detector keeps its own.
const raceBuild = true
