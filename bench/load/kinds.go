package load

// Kinds counts errors by their kind.
type Kinds map[string]uint64

// maxKinds bounds how many kinds are told apart, so that a server which says something else
// each time fills no memory; OtherKind has what is beyond.
const (
	maxKinds  = 16
	OtherKind = "other"
)

// add counts n errors of a kind.
func (k *Kinds) add(kind string, n uint64) {
	if *k == nil {
		*k = make(Kinds)
	}
	if _, known := (*k)[kind]; !known && k.named() >= maxKinds {
		kind = OtherKind
	}
	(*k)[kind] += n
}

// named returns how many kinds are told apart.
func (k *Kinds) named() int {
	if _, ok := (*k)[OtherKind]; ok {
		return len(*k) - 1
	}
	return len(*k)
}

// merge adds what another has counted.
func (k *Kinds) merge(from Kinds) {
	for kind, n := range from {
		k.add(kind, n)
	}
}
