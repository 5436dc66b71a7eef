package fabrictest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/remora-kv/remora/fabric"
)

// World is what a provider brings: two devices that can reach each other,
// separate objects of one provider in this process.
type World struct {
	// A listens, B dials.
	A, B fabric.Device
	// Listen returns a fresh address at which A can listen.
	Listen func() fabric.Addr
	// Kill makes B vanish without a message to A, as kill -9 or a pulled cable
	// would. Afterwards the suite does nothing with the objects of B but close
	// them, so that this process gets its memory back; their errors are
	// ignored. Calls of B that block (Dial) are cancelled by the suite.
	Kill func()
	// Fresh, when not nil, returns a further device that can reach A, to see
	// that A goes on after a Kill. The suite closes it.
	Fresh func() fabric.Device
}

// Options change how the suite runs. The zero value is what Run uses.
type Options struct {
	// Iterations multiplies the repetitions of the cases that hammer; 0 means
	// 1. A nightly run may say 50.
	Iterations int
	// Watchdog ends a case that hangs. 0 means DefaultWatchdog.
	Watchdog time.Duration
	// Without names the guarantees, such as G7, that a device breaks on purpose: their cases do
	// not run. It is for devices that are no providers.
	Without []string
	// exact makes the cases hammer as often as they say, whatever REMORA_ITERATIONS:
	// the tests of the suite need that for flaws that show seldom.
	exact bool
	// patience is how long a condition may take; 0 means defaultPatience.
	patience time.Duration
}

// DefaultWatchdog is how long a case may take. Others may use the machine.
const DefaultWatchdog = 5 * time.Minute

// maxHung is after how many hung cases the suite gives up: each may have left
// a goroutine behind that spins.
const maxHung = 3

// Run checks a provider against the contract. newWorld makes a fresh pair of
// devices and registers its clean-up on tb; the suite closes the devices
// itself before that clean-up runs, so a second Close must do no harm.
func Run(t *testing.T, newWorld func(tb testing.TB) *World) {
	RunWith(t, newWorld, Options{})
}

// RunWith is Run with options.
func RunWith(t *testing.T, newWorld func(tb testing.TB) *World, opt Options) {
	t.Helper()
	// What a process opens once and keeps (the poller of the runtime, the
	// event channel of a driver) must not be taken for a leak of the first
	// case.
	runCase(t, &testCase{name: "warm-up", run: warmUp}, newWorld, opt, false)
	if t.Failed() {
		t.Fatal("fabrictest: the devices cannot exchange a message: nothing else was tried")
	}
	hung := 0
	for _, c := range allCases() {
		if guarantee, _, _ := strings.Cut(c.name, "/"); slices.Contains(opt.Without, guarantee) {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			if runCase(t, c, newWorld, opt, true) == caseHung {
				hung++
			}
		})
		if hung == maxHung {
			t.Fatalf("fabrictest: %d cases hang: the rest was not tried", hung)
		}
	}
}

// testCase is one case of the suite.
type testCase struct {
	// name is guarantee/what/variant.
	name string
	// rule is the sentence of the contract that the case checks.
	rule string
	// run drives both devices, in one process. peer is one of two that do, each
	// with its own device, in one process or in two. A case has one of them.
	run  func(t *trial)
	peer func(p *peer)
}

// warmUp is one message.
func warmUp(t *trial) {
	p := t.pair(pairConfig{})
	p.b.mem.write(0, pattern(1), 64)
	p.a.postRecv(p.a.recvAt(0, 64))
	p.b.post(p.b.sendFrom(0, 64))
	p.sends(p.b, 1)
	p.recvs(p.a, 1)
}

// allCases is the suite, in the order of the contract.
func allCases() []*testCase {
	var all []*testCase
	for _, group := range []func() []*testCase{
		peerOperationCases, limitCases, operationCases, peerSegmentCases, segmentCases, chainCases, queueCases,
		orderCases, peerOrderCases, visibilityCases, peerWordCases, wordCases, peerAtomicCases, atomicCases,
		peerAccessCases, accessCases, revokeCases,
		peerReceiveCases, receiveCases, overlongCases, deathCases, peerConnectCases, connectCases, backlogCases,
		closeCases, teardownCases, threadCases, datagramCases, waitCases, peerSleepCases, sleepCases,
		counterCases, viewCases, placeCases, streamCases, allocCases,
	} {
		all = append(all, group()...)
	}
	return all
}

// each makes a case for each of the transports, with /rc, /uc or /ud appended
// to the name.
func each(name, rule string, run func(t *trial, tr fabric.Transport), transports ...fabric.Transport) []*testCase {
	var cases []*testCase
	for _, tr := range transports {
		cases = append(cases, &testCase{
			name: name + "/" + tr.String(), rule: rule,
			run: func(t *trial) {
				t.need(tr)
				run(t, tr)
			},
		})
	}
	return cases
}

// peers makes a case for two peers for each of the transports, as each does.
func peers(name, rule string, run func(p *peer, tr fabric.Transport), transports ...fabric.Transport) []*testCase {
	var cases []*testCase
	for _, tr := range transports {
		cases = append(cases, &testCase{
			name: name + "/" + tr.String(), rule: rule,
			peer: func(p *peer) {
				p.needBoth(tr)
				run(p, tr)
			},
		})
	}
	return cases
}

// one makes a single case.
func one(name, rule string, run func(t *trial)) []*testCase {
	return []*testCase{{name: name, rule: rule, run: run}}
}

// join concatenates what each, one and their like made.
func join[C any](groups ...[]C) []C {
	var all []C
	for _, g := range groups {
		all = append(all, g...)
	}
	return all
}
