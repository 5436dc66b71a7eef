//go:build race

package server_test

// The race detector makes everything slow.
func init() { slowness, stormDefault = 3, 600 }
