//go:build !race

package mica

// raceBuild says whether the race detector is built in.
const raceBuild = false
