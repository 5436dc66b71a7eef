//go:build !race

package remora_test

const raceEnabled = false
