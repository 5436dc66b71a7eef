package store

import "strconv"

// CounterSize is the length of the longest counter: a sign and 19 digits.
const CounterSize = 20

// Incr adds delta to the decimal number in an item and returns the sum and the
// new version; flags and expiry stay. The error is ErrNotFound if there is no item, and
// ErrNotNumber if the value is not a number or the sum does not fit into 64
// bits; then nothing has changed. scratch is memory for the number, at least
// CounterSize bytes; it must not alias the item.
func Incr(p Partition, k Key, delta, now int64, scratch []byte) (sum int64, version uint64, err error) {
	item, err := p.Get(k, now)
	if err != nil {
		return 0, 0, err
	}
	old, ok := parseCounter(item.Value)
	sum = old + delta
	if !ok || (sum > old) != (delta > 0) && delta != 0 {
		return 0, 0, ErrNotNumber
	}
	e := Entry{Value: strconv.AppendInt(scratch[:0], sum, 10), Flags: item.Flags, Expires: item.Expires}
	version, err = p.Put(k, e, Always(), now)
	return sum, version, err
}

// parseCounter reads a decimal number without allocating.
func parseCounter(text []byte) (n int64, ok bool) {
	digits := text
	negative := len(text) > 0 && text[0] == '-'
	if negative {
		digits = text[1:]
	}
	if len(digits) == 0 || len(text) > CounterSize {
		return 0, false
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		// Accumulate negated: the smallest int64 has no positive counterpart.
		next := n*10 - int64(c-'0')
		if n < -922337203685477580 || next > n {
			return 0, false
		}
		n = next
	}
	if negative {
		return n, true
	}
	return -n, n != -1<<63
}
