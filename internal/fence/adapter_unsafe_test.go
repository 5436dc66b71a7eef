//go:build arm64 && !race

package fence

import (
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"
)

// The functions on memory of an adapter have the barriers of F8, where they must be. No test
// on an emulator can see what they do, and few on a CPU, so this one reads the code.
func TestBarriersTowardsAdapters(t *testing.T) {
	release := []string{"STLRB", "STLR", "STLRB"} // head, words, tail
	acquire := []string{"LDARB", "LDAR", "LDARB"}
	for _, c := range []struct {
		name string
		f    any
		want []string
	}{
		{"Publish64", Publish64, []string{"DMB OSHST", "STLR"}},
		{"PublishByte", PublishByte, []string{"DMB OSHST", "STLRB"}},
		{"Announce64", Announce64, []string{"DMB OSHST", "STLR", "DMB OSH"}},
		{"Observe64", Observe64, []string{"LDAR", "DMB OSHLD"}},
		{"ObserveByte", ObserveByte, []string{"LDARB", "DMB OSHLD"}},
		{"Drain", Drain, []string{"DMB OSHST"}},
		{"CopyOut", CopyOut, slices.Concat([]string{"DMB OSHST"}, release, []string{"DMB OSHST"}, release)},
		{"CopyIn", CopyIn, append(acquire, "DMB OSHLD")},
	} {
		if got := orderings(reflect.ValueOf(c.f).Pointer()); !slices.Equal(got, c.want) {
			t.Errorf("%s has %v, want %v", c.name, got, c.want)
		}
	}
}

// ordering names the instructions that order memory; the low bits are registers.
var ordering = []struct {
	mask, bits uint32
	name       string
}{
	{0xFFFFFFFF, 0xD50331BF, "DMB OSHLD"},
	{0xFFFFFFFF, 0xD50332BF, "DMB OSHST"},
	{0xFFFFFFFF, 0xD50333BF, "DMB OSH"},
	{0xFFFFFC00, 0xC89FFC00, "STLR"},
	{0xFFFFFC00, 0x089FFC00, "STLRB"},
	{0xFFFFFC00, 0xC8DFFC00, "LDAR"},
	{0xFFFFFC00, 0x08DFFC00, "LDARB"},
}

// orderings returns the instructions that order memory in the function at entry and in those
// of this package that it calls, in the order of the code.
func orderings(entry uintptr) (found []string) {
	code := *(*unsafe.Pointer)(unsafe.Pointer(&entry))
	for f := runtime.FuncForPC(entry); runtime.FuncForPC(entry).Entry() == f.Entry(); entry += 4 {
		w := *(*uint32)(code)
		for _, o := range ordering {
			if w&o.mask == o.bits {
				found = append(found, o.name)
			}
		}
		if w>>26 == 0b100101 { // BL
			target := entry + uintptr(int64(int32(w<<6)>>6)*4)
			if strings.Contains(runtime.FuncForPC(target).Name(), "/fence.") {
				found = append(found, orderings(target)...)
			}
		}
		code = unsafe.Add(code, 4)
	}
	return found
}
