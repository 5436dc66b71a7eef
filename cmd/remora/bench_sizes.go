package main

import (
	"strconv"

	"github.com/spf13/pflag"

	"github.com/remora-kv/remora/bench/target/cache"
)

// benchSizes are the flags that take a number of bytes, or the name of a distribution.
type benchSizes struct {
	key    string
	values []string
}

func (s *benchSizes) register(fl *pflag.FlagSet) {
	fl.StringVar(&s.key, "key-size", strconv.Itoa(cache.DefaultKeySize), "`BYTES` of a key; or uniform:8-64, or etc (Facebook's pool)")
	fl.StringSliceVar(&s.values, "value-size", []string{strconv.Itoa(cache.DefaultValueSize)},
		"`BYTES` of a value, a list; or uniform:1-899, etc, weibo (mean 43)")
}

// into sorts numbers and names.
func (s *benchSizes) into(cfg *cache.Config) error {
	if n, err := strconv.Atoi(s.key); err != nil {
		cfg.KeyDist = s.key
	} else if cfg.KeySize = n; n < 1 {
		return misuse("--key-size %d must be at least 1", n)
	}
	for _, text := range s.values {
		if n, err := strconv.Atoi(text); err == nil {
			cfg.ValueSizes = append(cfg.ValueSizes, n)
		} else {
			cfg.ValueDists = append(cfg.ValueDists, text)
		}
	}
	return nil
}
