package cache

import (
	"fmt"
	"math"

	"github.com/remora-kv/remora/bench"
	"github.com/remora-kv/remora/bench/load"
	"github.com/remora-kv/remora/rpc/wire"
)

// keySizes are those of the keys of a case.
func (k *Case) keySizes() load.Sizes {
	return sizesOf(k.KeyDist, k.KeySize, load.ParseKeySizes)
}

// valueSizes are those of its values.
func (k *Case) valueSizes() load.Sizes {
	return sizesOf(k.ValueDist, k.ValueSize, load.ParseValueSizes)
}

func sizesOf(dist string, size int, parse func(string) (load.Sizes, error)) load.Sizes {
	if dist == "" {
		return load.FixedSizes(size)
	}
	sizes, err := parse(dist)
	if err != nil {
		panic(fmt.Sprintf("cache: %v, which normalize let through", err))
	}
	return sizes
}

// longestKey and longestValue are how long they get.
func (k *Case) longestKey() int {
	s := k.keySizes()
	return s.Most()
}

func (k *Case) longestValue() int {
	s := k.valueSizes()
	return s.Most()
}

// settleSizes fills in the means of distributions, which rows tell as sizes.
func (k *Case) settleSizes() {
	keys, values := k.keySizes(), k.valueSizes()
	k.KeySize, k.ValueSize = int(math.Round(keys.Mean())), int(math.Round(values.Mean()))
}

// usualValue is how long the values of an answer are, each: on average, and with what
// nineteen answers of twenty need beyond it, of which the more values an answer has the
// less falls to each.
func (k *Case) usualValue() int {
	s := k.valueSizes()
	mean := s.Mean()
	margin := max(float64(s.Quantile(usualShare))-mean, 0)
	return int(math.Ceil(mean + margin/math.Sqrt(float64(k.Batch))))
}

// usualShare is how many answers one READ is to bring as a whole (C10).
const usualShare = 0.95

// usualAnswer is wholeAnswer where values are of many sizes: a frame takes as much as it
// holds, and one READ brings most of them.
func (k *Case) usualAnswer(overhead int) int {
	one := min(wire.EntryHeader+k.usualValue()+overhead, framePayload)
	return max(minFetch, wire.ResultBytes(min(k.Batch*one, framePayload)))
}

// checkSizes refuses sizes that cannot be, or of which there are not enough.
func (c *Config) checkSizes(errs *bench.Faults, longest int) {
	errs.EachBetween("--value-size", c.ValueSizes, 1, maxValue)
	for _, text := range c.ValueDists {
		s, err := load.ParseValueSizes(text)
		if err != nil {
			errs.Add("--value-size %w", err)
		} else if s.Most() > maxValue {
			errs.Add("--value-size %s goes beyond %d", text, maxValue)
		}
	}
	keys, err := load.ParseKeySizes(c.KeyDist)
	switch {
	case c.KeyDist == "":
		errs.Between("--key-size", c.KeySize, 1, longest)
		keys = load.FixedSizes(c.KeySize)
	case err != nil:
		errs.Add("--key-size %w", err)
		return
	case keys.Most() > longest:
		errs.Add("--key-size %s goes beyond %d", c.KeyDist, longest)
	}
	if least := keys.Least(); least >= 1 && uint64(max(c.Keys, 0)) > load.MaxKeys(least) {
		errs.Add("there are only %d keys of --key-size %d", load.MaxKeys(least), least)
	}
}
