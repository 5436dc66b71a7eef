package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// size is a flag in bytes: 4096, 64KiB, 1.5GiB, 2G.
type size int64

// units are the suffixes, the longer ones first. All are powers of 1024.
var units = []struct {
	suffix string
	bytes  float64
}{
	{"KIB", 1 << 10},
	{"MIB", 1 << 20},
	{"GIB", 1 << 30},
	{"TIB", 1 << 40},
	{"KB", 1 << 10},
	{"MB", 1 << 20},
	{"GB", 1 << 30},
	{"TB", 1 << 40},
	{"K", 1 << 10},
	{"M", 1 << 20},
	{"G", 1 << 30},
	{"T", 1 << 40},
	{"B", 1},
}

// Set implements pflag.Value.
func (s *size) Set(text string) error {
	number, factor := strings.ToUpper(strings.TrimSpace(text)), 1.0
	for _, u := range units {
		if rest, ok := strings.CutSuffix(number, u.suffix); ok {
			number, factor = strings.TrimSpace(rest), u.bytes
			break
		}
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || !(v*factor >= 0 && v*factor < math.MaxInt64) {
		return fmt.Errorf("%q is no size: write bytes, or a number with KiB, MiB, GiB or TiB", text)
	}
	*s = size(v * factor)
	return nil
}

// String implements pflag.Value.
func (s *size) String() string { return bytesText(int64(*s)) }

// Type implements pflag.Value.
func (*size) Type() string { return "SIZE" }

// bytesText writes a number of bytes with the largest unit that keeps it short.
func bytesText(n int64) string {
	for i := 3; i >= 0; i-- {
		u := units[i]
		if v := float64(n) / u.bytes; v >= 1 {
			return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0") + " " + string(u.suffix[0]) + "iB"
		}
	}
	return strconv.FormatInt(n, 10) + " B"
}
