//go:build race

package remora_test

const raceEnabled = true
