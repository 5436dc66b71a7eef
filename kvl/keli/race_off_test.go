//go:build !race

package keli_test

const raceEnabled = false
