// Package storetest is the conformance suite of package store: what every engine
// must do, as cases that run. An engine plugs in with its constructor and a few
// answers:
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
// A case has a name that begins with the invariant it checks, such as
// S3/failed-put/store, and ends with the mode; and the sentence of the contract
// that it holds the engine to, which is printed when it fails. Every sentence is
// found word for word in the comments of package store, and every invariant has
// a case; a test of this package sees to both. Another one runs cases on engines
// with a known flaw and expects that they notice.
//
// # Around each case
//
//	R1  Each case has partitions of its own, with an arena of its own. At its end
//	    they are compared with the model, checked (S7) and closed, and nothing is
//	    left in the arena.
//	R2  A watchdog ends a case that hangs. A panic of the engine is a failure.
//	R3  Random choices depend on the seed and the iterations (Options), and on
//	    nothing else. A case that fails tells the command that repeats it.
//
// # Other choices
//
// A run makes the same choices as the one before. Others are made, and more of
// them, by two variables of the environment:
//
//	REMORA_SEED=7 REMORA_ITERATIONS=10 go test -run Conformance ./store/...
//
// An engine must hold under every seed: what a case demands is never so close to
// what is likely that another seed may miss it.
//
// # Table and model
//
// Cases do not call a partition but a table, which is a partition beside a plain
// map (model). After each call the table compares the answer and Stats:
//
//	T1  An item that is there has the key, value, version, flags and expiry of
//	    the last successful Put or Touch, all of them.
//	T2  In Store mode an item is there exactly if the model has it. In Cache mode
//	    it may be lost, but not more items than Stats says were evicted, and an
//	    item that was lost does not come back.
//	T3  An item that had expired at the time of some call may have been reclaimed
//	    by it. If the clock steps back before the expiry, it may be there or not.
//	T4  Stats counts the call and nothing else; items come and go by calls,
//	    evictions and expiry only; no level exceeds the memory (S4).
//	T5  Keys and values that were passed in are overwritten after the call. Views
//	    are compared again before the next call that may change them (S5).
//
// # Limits of an engine
//
// An engine whose items are of one size (Engine.Cell) or that takes shorter keys and
// values than the contract says (Engine.MaxKey, Engine.MaxValue) states that. Cases that
// put what must be taken cut it off there; what is longer must be ErrTooLarge.
//
// # Hashes
//
// Some cases put keys under hashes that are not those of Config.Seed, because no
// keys are known that collide. An engine that hashes keys again has to be made
// to believe them in its tests.
//
// # What the contract leaves open
//
// A Put that is too large and whose condition is not met may return either
// error. One whose condition is not met is never refused as full. In Cache mode
// an item of up to a quarter of the memory is taken; in Store mode a Put may be
// refused when half of the memory (Engine.Fill) is in use, or when it takes an
// eighth of it in one piece. Check may allocate.
//
// # Engines that clients read
//
// RunExport has the cases of store.Exporter and store.Finder, for an engine that says
// how a Finder is made (Engine.NewFinder). A case looks for keys as a client does: it
// copies the spans that the Finder asks for out of the areas (internal/fence) and gives
// them to it. What is Found must have been there since Start, all of it; what is Missing
// must not have been there at some time since then; a search has an end (Engine.Spans);
// and while nothing changes, none may end in Ask (Engine.Asks). The bytes that the
// Finder is given are
//
//	E2/after-each-call, E2/all-items   those of a partition that stands still
//	E1/between-steps, E2/misses        read before and after any change
//	E1/torn                            half as before a change and half as after it
//	E1/hammer                          read while another goroutine writes
//	E1/flips, E1/foreign, E1/garbage   with flipped bits, of another key, any
//	E1/layout                          those of another layout than it believes
//
// FuzzFinder has the fuzzer make up all of it.
//
// A test of this package runs them on a toy with one flaw after another, and sees that
// each case notices one.
//
// # Tests of one engine
//
// Rig and Reader are for what an engine tests beside that: puts that must succeed, and
// searches by READs.
//
// # Programs
//
// The model cases and the fuzzer play programs: any bytes mean a configuration
// and commands (program.go). A program that fails is made shorter by leaving out
// commands as long as it fails, and is then shown as a list.
package storetest
