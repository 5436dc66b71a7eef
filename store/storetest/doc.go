// Package storetest is the conformance suite of package store: it checks as cases what
// every engine must do. An engine plugs in with its constructor and a few
// properties:
//
//	var engine = storetest.Engine{
//		Name: "lru8",
//		New:  func(cfg store.Config) (store.Partition, error) { return lru8.New(cfg) },
//	}
//
//	func TestConformance(t *testing.T) { storetest.Run(t, engine) }
//	func FuzzModel(f *testing.F)       { storetest.Fuzz(f, engine) }
//	func BenchmarkEngine(b *testing.B) { storetest.Bench(b, engine) }
//
// # Cases
//
// The name of a case begins with the invariant that it checks and ends with the mode, such as
// S3/failed-put/store. A case has the sentence of the contract that it checks, and prints it
// when it fails. A test of this package verifies that every sentence occurs word for word in
// the comments of package store, and that every invariant has a case. Another runs cases on
// engines with known flaws and expects them to fail.
//
// # Around each case
//
//	R1  Each case has partitions of its own, with an arena of its own. At its end
//	    they are compared with the model, checked (S7) and closed, and the arena must be
//	    empty.
//	R2  A watchdog ends a case that hangs. A panic of the engine is a failure.
//	R3  Random choices depend only on the seed and the iterations (Options). A case
//	    that fails prints the command that repeats it.
//
// # Seeds
//
// By default all runs make the same choices. Two environment variables choose others, and
// more of them:
//
//	REMORA_SEED=7 REMORA_ITERATIONS=10 go test -run Conformance ./store/...
//
// An engine must pass with every seed: no case demands something that chance alone may
// fail.
//
// # Table and model
//
// Cases call a table, which is a partition beside a plain map (model). After each call the
// table compares the answer and Stats:
//
//	T1  An item that exists has the key, value, version, flags and expiry of
//	    the last successful Put or Touch.
//	T2  In Store mode an item exists if and only if it is in the model. In Cache mode
//	    items may be lost, but not more than Stats says were evicted, and an
//	    item that was lost does not come back.
//	T3  A call may reclaim an item that has expired at its time. If the clock steps back
//	    before the expiry, the item may exist or not.
//	T4  Stats counts the call and nothing else; only calls, evictions and expiry
//	    change the number of items; no level exceeds the memory (S4).
//	T5  Keys and values that were passed in are overwritten after the call. Views
//	    are compared again before the next call that may change them (S5).
//
// # Limits of an engine
//
// An engine may have items of one size (Engine.Cell), or limits of keys and values below the
// contract's (Engine.MaxKey, Engine.MaxValue). Cases that put items that must be accepted cut
// them off at the limits; longer ones must fail with ErrTooLarge.
//
// # Hashes
//
// Some cases put keys under hashes other than those of Config.Seed, because no colliding keys
// are known. An engine that hashes keys again must accept these hashes in its tests.
//
// # What the contract leaves open
//
// A Put that is too large and whose condition is not met may return either
// error. A Put whose condition is not met is never refused as full. In Cache mode
// an item of up to a quarter of the memory is accepted. In Store mode a Put may be
// refused when half of the memory (Engine.Fill) is in use, or when it needs an
// eighth of it in one piece. Check may allocate.
//
// # Engines that clients read
//
// RunExport has the cases of store.Exporter and store.Finder, for an engine with
// Engine.NewFinder. A case looks for keys as a client does: it copies the spans that the
// Finder asks for out of the areas (internal/fence) and passes them to it. An item that is
// Found must have existed since Start, as a whole; one that is Missing must not have
// existed at some time since then; a search must end (Engine.Spans); and while nothing
// changes, it must not end in Ask (Engine.Asks). The bytes that the Finder gets are
//
//	E2/after-each-call, E2/all-items   those of a partition that does not change
//	E1/between-steps, E2/misses        read before and after any change
//	E1/torn                            half from before a change and half from after it
//	E1/hammer                          read while another goroutine writes
//	E1/flips, E1/foreign, E1/garbage   with flipped bits, of another key, random
//	E1/layout                          those of another layout than the Finder's
//
// In FuzzFinder the fuzzer chooses all of it.
//
// A test of this package runs them on a toy engine with one flaw after another, and checks that
// each flaw fails a case.
//
// # Tests of one engine
//
// Rig and Reader are for further tests of an engine: Puts that must succeed, and searches by
// READs.
//
// # Programs
//
// The model cases and the fuzzer play programs: any bytes decode to a configuration
// and commands (program.go). A program that fails is shortened by leaving out
// commands while it still fails, and is then printed as a list.
package storetest
