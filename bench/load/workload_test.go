package load

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
)

// W2: a stream is that of its seed and worker, and of no other.
func TestStreamsAreReproducible(t *testing.T) {
	take := func(m Mix, worker int) (out []uint64) {
		m.growth = nil // what others have inserted is no part of it
		s := m.Stream(worker)
		for range 1000 {
			index, op, stamp := s.Next()
			out = append(out, index, uint64(op), stamp)
			if op == Insert {
				s.Settle(index)
			}
		}
		return out
	}
	for _, m := range []Mix{
		{Keys: 1 << 20, GetPct: 95, Seed: 7},
		{Keys: 1 << 20, GetPct: 50, Theta: 0.99, Seed: 7},
		{Keys: 1 << 20, GetPct: 50, Theta: 0.99, ScanPct: 30, Seed: 7},
		{Keys: 1 << 20, GetPct: 50, ModifyPct: 30, HotOpsPct: 80, HotKeysPct: 20, Seed: 7},
		{Keys: 1 << 20, GetPct: 50, Latest: true, Theta: 0.99, Workers: 2, Seed: 7},
	} {
		first := take(m, 0)
		if !slices.Equal(first, take(m, 0)) {
			t.Errorf("%+v made something else the second time", m)
		}
		other := m
		other.Seed++
		if slices.Equal(first, take(m, 1)) || slices.Equal(first, take(other, 0)) {
			t.Errorf("%+v: another worker or seed makes the same", m)
		}
	}
}

// The operations of a seed stay what they are, because runs are compared by it.
func TestStreamsStayTheSame(t *testing.T) {
	for want, m := range map[string]Mix{
		"30bda8c82c2327a9 true, 90e293c287021287 true, a832525fd2c7edad true, 95586cedeeb2adc1 true, ": {Keys: 1e6, GetPct: 50, Seed: 1},
		"2e94be1752b56e06 true, 04ad4a89ce52e501 true, 5220c645b152ca06 true, 961a8e9e50a3716e true, ": {Keys: 1e6, GetPct: 50, Theta: 0.99, Seed: 1},
		"d0c8ba78fd75b04d true, 04ad4a89ce52e501 true, a1fcdfbcadc32676 true, 41b18014a1ef5abf true, ": {Keys: 1e6, GetPct: 50, Theta: 0.99, ScanPct: 50, Seed: 1},
	} {
		s, k := m.Stream(3), KeysOf(FixedSizes(16))
		got, key := "", k.Buffer()
		for range 4 {
			index, op, _ := s.Next()
			got += fmt.Sprintf("%s %v, ", k.Fill(key, index), op == Get)
		}
		if got != want {
			t.Errorf("theta %v: %q", m.Theta, got)
		}
	}
}

func TestShareOfGets(t *testing.T) {
	for _, pct := range []float64{0, 5, 50, 95, 99.9, 100} {
		m := Mix{Keys: 10, GetPct: pct, Seed: 3}
		s, gets := m.Stream(0), 0
		const n = 200_000
		for range n {
			if _, op, _ := s.Next(); op == Get {
				gets++
			}
		}
		got := 100 * float64(gets) / n
		if math.Abs(got-pct) > 0.5 || pct == 0 && gets != 0 || pct == 100 && gets != n {
			t.Errorf("%v %% gets became %v %%", pct, got)
		}
	}
}

// A scan goes over all keys in turn, each worker from a key of its own on.
func TestScan(t *testing.T) {
	m := Mix{Keys: 1000, GetPct: 100, Theta: 0.9, ScanPct: 100, Seed: 3}
	var firsts []uint64
	for worker := range 3 {
		s := m.Stream(worker)
		first, _, _ := s.Next()
		for i := range 2 * m.Keys {
			if index, _, _ := s.Next(); index != (first+1+i)%m.Keys {
				t.Fatalf("worker %d: key %d of the scan from %d is %d", worker, i+1, first, index)
			}
		}
		firsts = append(firsts, first)
	}
	if slices.Sort(firsts); len(slices.Compact(firsts)) != 3 {
		t.Errorf("scans begin together, at %d", firsts)
	}
}

// Of the operations the share that was asked for belongs to the scan, which goes on where
// it was; gets are as many of them as of the others, and those are as popular as ever.
func TestScanIsMixedIn(t *testing.T) {
	const n, theta = 400_000, 0.99
	scan := Mix{Keys: 1 << 30, ScanPct: 100, Seed: 5} // so many that others seldom meet it
	for _, pct := range []float64{0.5, 20, 90} {
		m := Mix{Keys: scan.Keys, GetPct: 80, Theta: theta, ScanPct: pct, Seed: scan.Seed}
		s, order := m.Stream(1), scan.Stream(1)
		expected, _, _ := order.Next()
		top := s.scatter.At(0)
		var scanned, gets, tops float64
		for range n {
			index, op, _ := s.Next()
			switch index {
			case expected:
				expected++
				scanned++
				if op == Get {
					gets++
				}
			case top:
				tops++
			}
		}
		if got := 100 * scanned / n; math.Abs(got-pct) > 0.3 {
			t.Errorf("%v %% of scans became %v %%", pct, got)
		}
		if got := 100 * gets / scanned; math.Abs(got-m.GetPct) > 3 {
			t.Errorf("of a scan of %v %%, %v %% are gets, want %v %%", pct, got, m.GetPct)
		}
		zeta := math.Pow(float64(m.Keys), 1-theta)/(1-theta) + 0.5772 - 1/(1-theta) // about
		if want, got := (n-scanned)/zeta, tops; math.Abs(got-want) > 6*math.Sqrt(want)+0.02*want {
			t.Errorf("with %v %% of scans the first of the others came %v times, want %v", pct, got, want)
		}
	}
}

func TestAllPutsEveryKeyOnce(t *testing.T) {
	m := Mix{Keys: 100, GetPct: 95, Theta: 0.9}
	s := m.All()
	for want := range uint64(200) {
		if index, op, _ := s.Next(); op != Put || index != want%100 {
			t.Fatalf("operation %d is %d of key %d", want, op, index)
		}
	}
}

// Every key is as likely as every other: chi squared over 100 keys.
func TestUniform(t *testing.T) {
	m := Mix{Keys: 100, GetPct: 100, Seed: 5}
	s := m.Stream(2)
	const n = 100_000
	var count [100]float64
	for range n {
		index, _, _ := s.Next()
		count[index]++
	}
	if x := chiSquared(count[:], func(int) float64 { return n / 100 }); x > 149 { // one in a thousand
		t.Errorf("chi squared is %.1f", x)
	}
}

func chiSquared(count []float64, want func(i int) float64) (x float64) {
	for i, k := range count {
		w := want(i)
		x += (k - w) * (k - w) / w
	}
	return x
}

// The probabilities are those of the definition, for theta below, at and above 1.
func TestZipf(t *testing.T) {
	const n, draws = 50, 200_000
	for _, theta := range []float64{0.1, 0.5, 0.8, 0.99, 1, 1 + 1e-12, 1.2, 2, 3} {
		zeta := 0.0
		for k := 1; k <= n; k++ {
			zeta += math.Pow(float64(k), -theta)
		}
		z, r := NewZipf(n, theta), NewRandom(11, 0)
		var count [n]float64
		for range draws {
			count[z.Draw(&r)]++
		}
		want := func(i int) float64 { return draws * math.Pow(float64(i+1), -theta) / zeta }
		if x := chiSquared(count[:], want); x > 85 { // one in a thousand
			t.Errorf("theta %v: chi squared is %.1f; the first ranks %.0f", theta, x, count[:4])
		}
	}
	if z, r := NewZipf(1, 0.99), NewRandom(1, 0); z.Draw(&r) != 0 {
		t.Error("one rank, and another was drawn")
	}
}

// Of a hundred million keys the share of the first is right too.
func TestZipfOfManyKeys(t *testing.T) {
	const n, theta, draws = 100_000_000, 0.99, 300_000
	zeta := 0.0
	for k := 1; k < 1000; k++ {
		zeta += math.Pow(float64(k), -theta)
	}
	zeta += (math.Pow(n+0.5, 1-theta) - math.Pow(999.5, 1-theta)) / (1 - theta)
	z, r := NewZipf(n, theta), NewRandom(2, 0)
	first, most := 0, uint64(0)
	for range draws {
		k := z.Draw(&r)
		most = max(most, k)
		if k == 0 {
			first++
		}
	}
	if got, want := float64(first)/draws, 1/zeta; math.Abs(got-want) > 0.1*want {
		t.Errorf("the first rank has %v of all, want %v", got, want)
	}
	if most >= n || most < n/100 {
		t.Errorf("the last rank drawn is %d of %d", most, n)
	}
}

// W4: no two ranks share a key, whatever the number of keys.
func TestScatteringIsAPermutation(t *testing.T) {
	for _, n := range []uint64{1, 2, 3, 5, 8, 100, 1023, 1024, 1025, 50_000} {
		for seed := range uint64(3) {
			p, seen := NewPermutation(n, seed), make([]bool, n)
			for x := range n {
				y := p.At(x)
				if y >= n || seen[y] {
					t.Fatalf("of %d: %d is mapped to %d, again or beyond", n, x, y)
				}
				seen[y] = true
			}
		}
	}
	// Ranks that follow one another are far apart.
	p, near := NewPermutation(1<<20, 1), 0
	for x := range uint64(1000) {
		if d := int64(p.At(x)) - int64(p.At(x+1)); d > -1000 && d < 1000 {
			near++
		}
	}
	if near > 20 {
		t.Errorf("%d of 1000 neighbours stay neighbours", near)
	}
}

func TestKeysAreDifferentAndPrintable(t *testing.T) {
	for _, size := range []int{1, 2, 5, 15, 16, 17, 40, 250} {
		k := KeysOf(FixedSizes(size))
		buffer, seen := k.Buffer(), make(map[string]bool)
		n := min(MaxKeys(size), 3000)
		for i := range n {
			key := k.Fill(buffer, i)
			if len(key) != size || seen[string(key)] || bytes.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
				t.Fatalf("key %d of %d bytes is %q, seen before: %v", i, size, key, seen[string(key)])
			}
			seen[string(key)] = true
		}
	}
}

func TestValuesAreChecked(t *testing.T) {
	for _, size := range []int{1, 7, 8, 9, 15, 16, 17, 24, 32, 100, 128, 129, 135, 136, 1000, 1023, 1024, 1025, 1031, 1032, 1040, 2048, 2055, 4096, 70_001} {
		v := ValuesOf(FixedSizes(size))
		b := v.Buffer()
		v.Fill(b, 5, 99)
		if err := v.Check(b, 5); err != nil || len(b) != size {
			t.Errorf("%d bytes: %v", size, err)
		}
		wrong := map[string]bool{
			"of another key": size >= 4 && v.Check(b, 6) == nil,
			"cut":            v.Check(b[:size-1], 5) == nil,
			"too long":       v.Check(append(slices.Clone(b), 0), 5) == nil,
			"nothing":        v.Check(nil, 5) == nil,
		}
		if size > 24 {
			other := v.Buffer()
			v.Fill(other, 5, 100)
			wrong["of two puts"] = v.Check(append(slices.Clone(b[:size-8]), other[size-8:]...), 5) == nil
		}
		for what, passed := range wrong {
			if passed {
				t.Errorf("%d bytes: a value that is %s passes", size, what)
			}
		}
	}
}

// Up to 128 B no byte can change unseen; above, none of those that are looked at.
func TestEveryByteOfAValueCounts(t *testing.T) {
	for _, size := range []int{3, 16, 32, 37, 128, 129, 1024, 5000} {
		v := ValuesOf(FixedSizes(size))
		b := v.Buffer()
		v.Fill(b, 1, 2)
		unseen := 0
		for i := range b {
			b[i] ^= 0x10
			if err := v.Check(b, 1); err == nil {
				unseen++
			} else if !errors.Is(err, ErrValue) {
				t.Errorf("byte %d of %d: %v", i, size, err)
			}
			b[i] ^= 0x10
		}
		if size <= whole && unseen != 0 || unseen == size {
			t.Errorf("%d of %d bytes can change unseen", unseen, size)
		}
	}
}

func TestNothingIsAllocated(t *testing.T) {
	for _, m := range []Mix{
		{Theta: 0.99, ScanPct: 30}, {HotOpsPct: 80, HotKeysPct: 20}, {Theta: 0.99, Latest: true, Workers: 1}, {ModifyPct: 50},
	} {
		for _, size := range []string{"32", "etc"} {
			m.Keys, m.GetPct = 1<<20, 50
			keySizes, _ := ParseKeySizes(size)
			valueSizes, _ := ParseValueSizes(size)
			s, k, v := m.Stream(0), KeysOf(keySizes), ValuesOf(valueSizes)
			key, value := k.Buffer(), v.Buffer()
			if n := testing.AllocsPerRun(1000, func() {
				index, op, stamp := s.Next()
				k.Fill(key, index)
				if v.Check(v.Fill(value, index, stamp), index) != nil {
					t.Error("wrong")
				}
				if op == Insert {
					s.Settle(index)
				}
			}); n != 0 {
				t.Errorf("%+v, %s: %v allocations for an operation", m, size, n)
			}
		}
	}
}

func BenchmarkUniform(b *testing.B) { benchStream(b, Mix{Keys: 1e6, GetPct: 95}) }
func BenchmarkZipf(b *testing.B)    { benchStream(b, Mix{Keys: 1e6, GetPct: 95, Theta: 0.99}) }

func benchStream(b *testing.B, m Mix) {
	s := m.Stream(0)
	for b.Loop() {
		s.Next()
	}
}

func BenchmarkKey(b *testing.B) {
	k := KeysOf(FixedSizes(16))
	buffer := k.Buffer()
	for i := uint64(0); b.Loop(); i++ {
		k.Fill(buffer, i)
	}
}

func BenchmarkCheck32(b *testing.B) { benchCheck(b, 32) }
func BenchmarkCheck1K(b *testing.B) { benchCheck(b, 1<<10) }
func BenchmarkCheck1M(b *testing.B) { benchCheck(b, 1<<20) }
func BenchmarkFill32(b *testing.B)  { benchFill(b, 32) }
func BenchmarkFill1K(b *testing.B)  { benchFill(b, 1<<10) }
func BenchmarkFill1M(b *testing.B)  { benchFill(b, 1<<20) }

func benchCheck(b *testing.B, size int) {
	v := ValuesOf(FixedSizes(size))
	value := v.Buffer()
	v.Fill(value, 1, 2)
	for b.Loop() {
		if v.Check(value, 1) != nil {
			b.Fatal("wrong")
		}
	}
}

func benchFill(b *testing.B, size int) {
	v := ValuesOf(FixedSizes(size))
	value := v.Buffer()
	for i := uint64(0); b.Loop(); i++ {
		v.Fill(value, i, 2)
	}
}

func BenchmarkHotspot(b *testing.B) {
	benchStream(b, Mix{Keys: 1e6, GetPct: 95, HotOpsPct: 80, HotKeysPct: 20})
}

func BenchmarkLatest(b *testing.B) {
	benchStream(b, Mix{Keys: 1e6, GetPct: 100, Theta: 0.99, Latest: true, Workers: 4})
}

// What an operation takes of a client: to make it, its key, and to make or check its value.
func BenchmarkOperation(b *testing.B) { benchOperation(b, Mix{Keys: 1e6, GetPct: 95}, "32") }

func BenchmarkOperationWeibo(b *testing.B) { benchOperation(b, Mix{Keys: 1e6, GetPct: 95}, "weibo") }
func BenchmarkOperationETC(b *testing.B)   { benchOperation(b, Mix{Keys: 1e6, GetPct: 95}, "etc") }
func BenchmarkOperationZipf(b *testing.B) {
	benchOperation(b, Mix{Keys: 1e6, GetPct: 95, Theta: 0.99}, "32")
}

func benchOperation(b *testing.B, m Mix, size string) {
	sizes, err := ParseValueSizes(size)
	if err != nil {
		b.Fatal(err)
	}
	s, k, v := m.Stream(0), KeysOf(FixedSizes(16)), ValuesOf(sizes)
	key, value, got := k.Buffer(), v.Buffer(), v.Buffer()
	for b.Loop() {
		index, op, stamp := s.Next()
		k.Fill(key, index)
		if op != Get {
			v.Fill(value, index, stamp)
			continue
		}
		if v.Check(v.Fill(got, index, stamp), index) != nil {
			b.Fatal("wrong")
		}
	}
}
