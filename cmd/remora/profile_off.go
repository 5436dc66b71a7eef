//go:build !profile

package main

// profiled does nothing: only builds with the tag profile write profiles.
func profiled() func() { return func() {} }
