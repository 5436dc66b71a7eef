package verbs

import (
	"fmt"
	"strings"

	"github.com/remora-kv/remora/fabric"
)

// kind says which programs a test runs at its two ends.
type kind uint8

const (
	kindLimit    kind = iota // two processes and a cache line, no fabric
	kindInbound              // clients post, the server's memory or receives are the target
	kindOutbound             // the server posts, the clients are the target
	kindEcho                 // a request and its reply
	kindIdle                 // an echo server that nobody calls
)

// Test is one entry of the catalogue.
type Test struct {
	// Name is what the user types and what a row says, followed by the
	// operation when there are several.
	Name string
	// About says in a line what is measured.
	About string
	// Transports are those that can carry the test. None: no fabric involved.
	Transports []fabric.Transport

	kind           kind
	ops            []fabric.Op // of the pump: one case for each
	request, reply fabric.Op   // of an echo
	size           int         // default
	fixed          bool        // the size cannot be chosen
	minSize        int
	windows        []int // default
	suite          []int // windows in the suite; none: not part of it
	threads        int   // default
	mesh           bool  // as many queue pairs per thread as threads
	tuned          bool  // inline and unsignaled unless switched off
	oneLine        bool  // request and reply of limit are one line
}

var (
	onlyRC    = []fabric.Transport{fabric.RC}
	connected = []fabric.Transport{fabric.RC, fabric.UC}
	everyone  = []fabric.Transport{fabric.RC, fabric.UC, fabric.UD}
)

// limitTest is what echoes are compared with.
const limitTest = "limit"

// wordSize is the sequence number at the end of every message of an echo.
const wordSize = 8

// catalogue returns the tests, in the order of the suite.
func catalogue() []Test {
	one := []int{1}
	verbs := []int{1, 16}
	echo := []int{1, 8}
	return []Test{
		{
			Name: limitTest, About: "the bare machine: two processes exchange a cache line, no fabric",
			kind: kindLimit, size: wordSize, minSize: wordSize, windows: echo, suite: echo, threads: 1, oneLine: true,
		},
		{
			Name: "limit-pair", About: "the bare machine: two processes write into each other's memory, no fabric",
			kind: kindLimit, size: wordSize, minSize: wordSize, windows: echo, suite: echo, threads: 1,
		},
		{
			Name: "read", About: "READ from the server's memory", Transports: onlyRC,
			kind: kindInbound, ops: []fabric.Op{fabric.OpRead}, size: 64, minSize: 1, windows: one, suite: verbs, threads: 1,
		},
		{
			Name: "write", About: "WRITE into the server's memory", Transports: connected,
			kind: kindInbound, ops: []fabric.Op{fabric.OpWrite}, size: 64, minSize: 1, windows: one, suite: verbs, threads: 1,
		},
		{
			Name: "send", About: "SEND to receives that the server posts again", Transports: everyone,
			kind: kindInbound, ops: []fabric.Op{fabric.OpSend}, size: 64, minSize: 1, windows: one, suite: verbs, threads: 1,
		},
		{
			Name: "fetch-add", About: "FETCH_ADD on words of the server", Transports: onlyRC,
			kind: kindInbound, ops: []fabric.Op{fabric.OpFetchAdd}, size: wordSize, fixed: true, windows: one, suite: verbs, threads: 1,
		},
		{
			Name: "echo-ss", About: "request SEND, reply SEND", Transports: everyone,
			kind: kindEcho, request: fabric.OpSend, reply: fabric.OpSend, size: wordSize, minSize: wordSize,
			windows: one, suite: echo, threads: 1, tuned: true,
		},
		{
			Name: "echo-ws", About: "request WRITE, reply SEND", Transports: connected,
			kind: kindEcho, request: fabric.OpWrite, reply: fabric.OpSend, size: wordSize, minSize: wordSize,
			windows: one, suite: echo, threads: 1, tuned: true,
		},
		{
			Name: "echo-ww", About: "request WRITE, reply WRITE, both sides poll memory", Transports: connected,
			kind: kindEcho, request: fabric.OpWrite, reply: fabric.OpWrite, size: wordSize, minSize: wordSize,
			windows: one, suite: echo, threads: 1, tuned: true,
		},
		{
			Name: "inbound", About: "READ, WRITE and SEND of many clients at one server", Transports: everyone,
			kind: kindInbound, ops: []fabric.Op{fabric.OpRead, fabric.OpWrite, fabric.OpSend}, size: 32, minSize: 1,
			windows: []int{16}, suite: []int{16}, threads: 2, tuned: true,
		},
		{
			Name: "outbound", About: "READ, WRITE and SEND of one server at many clients", Transports: everyone,
			kind: kindOutbound, ops: []fabric.Op{fabric.OpRead, fabric.OpWrite, fabric.OpSend}, size: 32, minSize: 1,
			windows: []int{16}, suite: []int{16}, threads: 2, tuned: true,
		},
		{
			Name: "all-to-all", About: "N threads WRITE over N queue pairs each", Transports: connected,
			kind: kindInbound, ops: []fabric.Op{fabric.OpWrite}, size: 32, minSize: 1,
			windows: []int{16}, suite: []int{16}, threads: 2, mesh: true, tuned: true,
		},
		{
			Name: "all-to-all-out", About: "N threads of the server WRITE and SEND to N clients each", Transports: everyone,
			kind: kindOutbound, ops: []fabric.Op{fabric.OpWrite, fabric.OpSend}, size: 32, minSize: 1,
			windows: []int{16}, suite: []int{16}, threads: 2, mesh: true, tuned: true,
		},
		{
			Name: "idle", About: "CPU of a server that nobody calls, then the first request", Transports: connected,
			kind: kindIdle, request: fabric.OpWrite, reply: fabric.OpWrite, size: wordSize, minSize: wordSize,
			windows: one, suite: one, threads: 1, tuned: true,
		},
	}
}

// parts returns the test with each of its operations alone, when there are several.
func (t *Test) parts() []Test {
	if len(t.ops) < 2 {
		return nil
	}
	var parts []Test
	for _, op := range t.ops {
		one := *t
		one.Name, one.About = t.Name+"-"+opWord(op), fmt.Sprintf("%v of %s alone", op, t.Name)
		one.ops, one.Transports = []fabric.Op{op}, nil
		for _, tr := range t.Transports {
			if tr.Allows(op) {
				one.Transports = append(one.Transports, tr)
			}
		}
		parts = append(parts, one)
	}
	return parts
}

// Parts returns the tests of the catalogue that are one operation of another.
func Parts() []Test {
	var parts []Test
	for _, t := range catalogue() {
		parts = append(parts, t.parts()...)
	}
	return parts
}

// looksUp reports whether the server of the test can be asked to look things up
// in memory before it answers.
func (t *Test) looksUp() bool { return t.kind == kindEcho && t.request == fabric.OpWrite }

// mails reports whether the replies of the test can be datagrams though its
// requests are not.
func (t *Test) mails() bool {
	return t.kind == kindEcho && t.request == fabric.OpWrite && t.reply == fabric.OpSend
}

// local reports whether the test measures two processes of one host and has
// nothing to say about a server elsewhere.
func (t *Test) local() bool { return t.kind == kindLimit || t.kind == kindIdle }

// Tests returns the catalogue.
func Tests() []Test { return catalogue() }

// Names returns the names of the tests and All, in the order of the catalogue.
func Names() []string {
	var names []string
	for _, t := range catalogue() {
		names = append(names, t.Name)
	}
	return append(names, All)
}

// lookup finds a test by its name, or one operation of a test by that of its rows.
func lookup(name string) (Test, error) {
	for _, t := range catalogue() {
		if t.Name == name {
			return t, nil
		}
		for _, one := range t.parts() {
			if one.Name == name {
				return one, nil
			}
		}
	}
	return Test{}, fmt.Errorf("test %q is unknown: use %s", name, strings.Join(Names(), ", "))
}

// carriers returns the names of the transports that have op, of those in list.
func carriers(list []fabric.Transport, op fabric.Op) string {
	var names []string
	for _, t := range list {
		if t.Allows(op) {
			names = append(names, t.String())
		}
	}
	return strings.Join(names, " or ")
}
