//go:build rdma

package verbs

// Calls of the data path are declared neither noescape nor nocallback. Their
// arguments are integers, which have nothing to escape; and nocallback, without
// which noescape has no effect, is two more calls into the runtime around each
// of them, to check that there was no callback.

// #cgo LDFLAGS: -ldl
// #include <stdlib.h>
// #include "shim.h"
import "C"

import (
	"fmt"
	"syscall"
	"unsafe"

	"github.com/remora-kv/remora/fabric"
)

// Handles of the library.
type (
	hwContext uintptr
	hwPD      uintptr
	hwMR      uintptr
	hwCQ      uintptr
	hwChannel uintptr
	hwQP      uintptr
	hwAH      uintptr
)

// What the headers say, for the files that do not see them.
const (
	qptRC = C.IBV_QPT_RC
	qptUC = C.IBV_QPT_UC
	qptUD = C.IBV_QPT_UD

	stateReset = C.IBV_QPS_RESET
	stateError = C.IBV_QPS_ERR

	portActive   = C.IBV_PORT_ACTIVE
	linkEthernet = C.IBV_LINK_LAYER_ETHERNET
	queryState   = C.IBV_QP_STATE
	// queryAll is what hwQP.attributes can say.
	queryAll = C.IBV_QP_STATE | C.IBV_QP_PKEY_INDEX | C.IBV_QP_AV | C.IBV_QP_TIMEOUT | C.IBV_QP_RETRY_CNT |
		C.IBV_QP_RNR_RETRY | C.IBV_QP_MIN_RNR_TIMER | C.IBV_QP_CAP

	accessLocal   = C.IBV_ACCESS_LOCAL_WRITE
	accessRead    = C.IBV_ACCESS_REMOTE_READ
	accessWrite   = C.IBV_ACCESS_REMOTE_WRITE
	accessAtomic  = C.IBV_ACCESS_REMOTE_ATOMIC
	sendSignaled  = C.IBV_SEND_SIGNALED
	sendInline    = C.IBV_SEND_INLINE
	sendSolicited = C.IBV_SEND_SOLICITED

	wcOK          = C.IBV_WC_SUCCESS
	wcLocLen      = C.IBV_WC_LOC_LEN_ERR
	wcLocQPOp     = C.IBV_WC_LOC_QP_OP_ERR
	wcLocProt     = C.IBV_WC_LOC_PROT_ERR
	wcFlushed     = C.IBV_WC_WR_FLUSH_ERR
	wcRemInvalid  = C.IBV_WC_REM_INV_REQ_ERR
	wcRemAccess   = C.IBV_WC_REM_ACCESS_ERR
	wcRemOp       = C.IBV_WC_REM_OP_ERR
	wcRetry       = C.IBV_WC_RETRY_EXC_ERR
	wcRNR         = C.IBV_WC_RNR_RETRY_EXC_ERR
	wcRecvWithImm = C.IBV_WC_RECV_RDMA_WITH_IMM

	eventQPFatal     = C.IBV_EVENT_QP_FATAL
	eventQPRequest   = C.IBV_EVENT_QP_REQ_ERR
	eventQPAccess    = C.IBV_EVENT_QP_ACCESS_ERR
	eventPathMigErr  = C.IBV_EVENT_PATH_MIG_ERR
	eventCQ          = C.IBV_EVENT_CQ_ERR
	eventPortDown    = C.IBV_EVENT_PORT_ERR
	eventPortActive  = C.IBV_EVENT_PORT_ACTIVE
	eventGIDChange   = C.IBV_EVENT_GID_CHANGE
	eventLIDChange   = C.IBV_EVENT_LID_CHANGE
	eventPKeyChange  = C.IBV_EVENT_PKEY_CHANGE
	eventSMChange    = C.IBV_EVENT_SM_CHANGE
	eventReregister  = C.IBV_EVENT_CLIENT_REREGISTER
	eventDeviceFatal = C.IBV_EVENT_DEVICE_FATAL
)

// opcodes are the library's names of the operations.
var opcodes = [fabric.NumOps]uint32{
	fabric.OpSend:     C.IBV_WR_SEND,
	fabric.OpWrite:    C.IBV_WR_RDMA_WRITE,
	fabric.OpWriteImm: C.IBV_WR_RDMA_WRITE_WITH_IMM,
	fabric.OpRead:     C.IBV_WR_RDMA_READ,
	fabric.OpFetchAdd: C.IBV_WR_ATOMIC_FETCH_AND_ADD,
	fabric.OpCmpSwap:  C.IBV_WR_ATOMIC_CMP_AND_SWP,
}

// qpTypes are the library's names of the transports.
var qpTypes = [...]int{fabric.RC: qptRC, fabric.UC: qptUC, fabric.UD: qptUD}

// errno makes an error of what a function of the shim returned.
func errno(rc C.int) error {
	if rc == 0 {
		return nil
	}
	return syscall.Errno(rc)
}

// loadLibrary opens libibverbs, once.
func loadLibrary() error {
	var why [256]C.char
	if C.rm_load(&why[0], C.int(len(why))) != 0 {
		return fmt.Errorf("fabric: verbs: %s: install it with apt-get install libibverbs1 ibverbs-providers, "+
			"or dnf install libibverbs: %w", C.GoString(&why[0]), fabric.ErrUnsupported)
	}
	return nil
}

// maxDevices is how many devices are looked at.
const maxDevices = 64

// listDevices returns the names of the RDMA devices of this machine.
func listDevices() ([]string, error) {
	var raw [maxDevices][64]C.char
	var n C.int
	if err := errno(C.rm_list(&raw[0][0], maxDevices, &n)); err != nil {
		return nil, err
	}
	names := make([]string, n)
	for i := range names {
		names[i] = C.GoString(&raw[i][0])
	}
	return names, nil
}

func openContext(name string) (hwContext, error) {
	s := C.CString(name)
	defer C.free(unsafe.Pointer(s))
	var ctx C.uintptr_t
	err := errno(C.rm_open(s, &ctx))
	return hwContext(ctx), err
}

func (c hwContext) close() error { return errno(C.rm_close(C.uintptr_t(c))) }

func (c hwContext) asyncFD() int { return int(C.rm_async_fd(C.uintptr_t(c))) }

// hwCaps are the limits of a device.
type hwCaps struct {
	maxRegion                   uint64
	depth, segs, cqDepth        int
	readsAnswered, readsStarted int
	ports                       int
	vendor                      uint32
	atomics                     bool
	firmware                    string
}

func (c hwContext) caps() (hwCaps, error) {
	var a C.struct_rm_caps
	if err := errno(C.rm_query_device(C.uintptr_t(c), &a)); err != nil {
		return hwCaps{}, err
	}
	return hwCaps{
		maxRegion: uint64(a.max_mr_size), depth: int(a.max_qp_wr), segs: int(a.max_sge), cqDepth: int(a.max_cqe),
		readsAnswered: int(a.max_rd_atom), readsStarted: int(a.max_init_rd_atom),
		ports: int(a.ports), vendor: uint32(a.vendor), atomics: a.atomics != 0, firmware: C.GoString(&a.firmware[0]),
	}, nil
}

// hwPort is what a port says of itself.
type hwPort struct {
	active     bool
	mtu        int
	maxMessage uint64
	lid        uint16
	ethernet   bool
	pkeys      int // the length of the table of partition keys
}

func (c hwContext) port(num int) (hwPort, error) {
	var p C.struct_rm_port
	if err := errno(C.rm_query_port(C.uintptr_t(c), C.int(num), &p)); err != nil {
		return hwPort{}, err
	}
	return hwPort{
		active: p.state == portActive, mtu: int(p.mtu), maxMessage: uint64(p.max_msg), lid: uint16(p.lid),
		ethernet: p.link_layer == linkEthernet, pkeys: int(p.pkeys),
	}, nil
}

// pkey returns a partition key; 0 is none.
func (c hwContext) pkey(port, index int) (uint16, error) {
	var key C.uint16_t
	err := errno(C.rm_query_pkey(C.uintptr_t(c), C.int(port), C.int(index), &key))
	return uint16(key), err
}

// vectors returns how many completion vectors a device has.
func (c hwContext) vectors() int { return max(int(C.rm_comp_vectors(C.uintptr_t(c))), 1) }

// hwGID is an entry of the GID table of a port.
type hwGID struct {
	gid            [16]byte
	index, ifindex int
	kind           uint32
}

// The kinds of a GID.
const (
	gidRoCEv1 = C.IBV_GID_TYPE_ROCE_V1
	gidRoCEv2 = C.IBV_GID_TYPE_ROCE_V2
)

const maxGIDs = 512

// gids returns the GIDs of a port; syscall.ENOSYS when the library is too old.
func (c hwContext) gids(port int) ([]hwGID, error) {
	var raw [maxGIDs]C.struct_rm_gid
	n := C.rm_query_gids(C.uintptr_t(c), C.int(port), &raw[0], maxGIDs)
	if n < 0 {
		return nil, errno(-n)
	}
	out := make([]hwGID, n)
	for i := range out {
		r := &raw[i]
		out[i] = hwGID{index: int(r.index), ifindex: int(r.ifindex), kind: uint32(r._type)}
		for k := range r.gid {
			out[i].gid[k] = byte(r.gid[k])
		}
	}
	return out, nil
}

// hwEvent is an asynchronous event.
type hwEvent struct {
	kind uint32
	qpn  uint32
	cq   hwCQ
	port int
}

// event takes the next event; syscall.EAGAIN when there is none.
func (c hwContext) event() (hwEvent, error) {
	var e C.struct_rm_event
	if err := errno(C.rm_async_event(C.uintptr_t(c), &e)); err != nil {
		return hwEvent{}, err
	}
	return hwEvent{kind: uint32(e._type), qpn: uint32(e.qp_num), cq: hwCQ(e.cq), port: int(e.port)}, nil
}

func eventName(kind uint32) string { return C.GoString(C.rm_event_name(C.uint32_t(kind))) }

func (c hwContext) newPD() (hwPD, error) {
	var pd C.uintptr_t
	err := errno(C.rm_alloc_pd(C.uintptr_t(c), &pd))
	return hwPD(pd), err
}

func (p hwPD) close() error { return errno(C.rm_dealloc_pd(C.uintptr_t(p))) }

// hwRegion is a registration.
type hwRegion struct {
	mr         hwMR
	addr       uint64
	lkey, rkey uint32
}

func (p hwPD) register(mem []byte, access int) (hwRegion, error) {
	addr := uintptr(unsafe.Pointer(unsafe.SliceData(mem)))
	var m C.struct_rm_mr
	err := errno(C.rm_reg_mr(C.uintptr_t(p), C.uintptr_t(addr), C.uint64_t(len(mem)), C.int(access), &m))
	return hwRegion{mr: hwMR(m.mr), addr: uint64(addr), lkey: uint32(m.lkey), rkey: uint32(m.rkey)}, err
}

func (m hwMR) close() error { return errno(C.rm_dereg_mr(C.uintptr_t(m))) }

// hwQueue is a completion queue with its channel.
type hwQueue struct {
	cq      hwCQ
	channel hwChannel
	fd      int
}

func (c hwContext) newCQ(depth, vector int) (hwQueue, error) {
	var q C.struct_rm_cq
	err := errno(C.rm_create_cq(C.uintptr_t(c), C.int(depth), C.int(vector), &q))
	return hwQueue{cq: hwCQ(q.cq), channel: hwChannel(q.channel), fd: int(q.fd)}, err
}

func (q hwQueue) close() error {
	return errno(C.rm_destroy_cq(C.uintptr_t(q.cq), C.uintptr_t(q.channel)))
}

// arm asks for an event at the next completion.
func (q hwQueue) arm(solicitedOnly bool) error {
	only := C.int(0)
	if solicitedOnly {
		only = 1
	}
	return errno(C.rm_arm_cq(C.uintptr_t(q.cq), only))
}

// drain takes the events that have come and returns their number.
func (q hwQueue) drain() int {
	return int(C.rm_drain_events(C.uintptr_t(q.cq), C.uintptr_t(q.channel)))
}

// qpPlan describes a queue pair to be made.
type qpPlan struct {
	pd                   hwPD
	send, recv           hwCQ
	transport            fabric.Transport
	sendDepth, recvDepth int
	segs, inline         int
}

// newHWQP makes a queue pair and returns how much inline data it takes.
func newHWQP(p *qpPlan) (qp hwQP, num uint32, inline int, err error) {
	init := C.struct_rm_qp_init{
		pd: C.uintptr_t(p.pd), send_cq: C.uintptr_t(p.send), recv_cq: C.uintptr_t(p.recv),
		_type: C.uint32_t(qpTypes[p.transport]), send_wr: C.uint32_t(p.sendDepth), recv_wr: C.uint32_t(p.recvDepth),
		send_sge: C.uint32_t(p.segs), recv_sge: C.uint32_t(p.segs), inline_data: C.uint32_t(p.inline),
	}
	var q C.struct_rm_qp
	err = errno(C.rm_create_qp(&init, &q))
	return hwQP(q.qp), uint32(q.num), int(q.inline_data), err
}

func (q hwQP) close() error { return errno(C.rm_destroy_qp(C.uintptr_t(q))) }

// hwPath is the other end of a connection, or the destination of datagrams.
type hwPath struct {
	gid      [16]byte
	qpn, psn uint32
	mtu      int
	lid      uint16
	global   bool
	sgid     int
	port     int
	sl       int
	tclass   int
}

func (p *hwPath) c() C.struct_rm_path {
	out := C.struct_rm_path{
		qpn: C.uint32_t(p.qpn), psn: C.uint32_t(p.psn), mtu: C.uint32_t(p.mtu), lid: C.uint32_t(p.lid),
		sgid_index: C.uint8_t(p.sgid), port: C.uint8_t(p.port), sl: C.uint8_t(p.sl), tclass: C.uint8_t(p.tclass),
	}
	for i, b := range p.gid {
		out.gid[i] = C.uint8_t(b)
	}
	if p.global {
		out.global = 1
	}
	return out
}

// toInit makes the queue pair that of a port and of a partition, whose key has an index.
func (q hwQP) toInit(t fabric.Transport, port, pkey, access int, qkey uint32) error {
	return errno(C.rm_qp_init_state(C.uintptr_t(q), C.int(qpTypes[t]), C.int(port), C.int(pkey), C.int(access), C.uint32_t(qkey)))
}

// toReceive lets the queue pair receive.
func (q hwQP) toReceive(t fabric.Transport, path *hwPath, reads, rnrTimer int) error {
	p := path.c()
	return errno(C.rm_qp_rtr(C.uintptr_t(q), C.int(qpTypes[t]), &p, C.int(reads), C.int(rnrTimer)))
}

// reliability is how often and how long an RC queue pair tries.
type reliability struct{ timeout, retries, rnrRetries int }

// toSend lets the queue pair send.
func (q hwQP) toSend(t fabric.Transport, psn uint32, reads int, r reliability) error {
	return errno(C.rm_qp_rts(C.uintptr_t(q), C.int(qpTypes[t]), C.uint32_t(psn), C.int(reads),
		C.int(r.timeout), C.int(r.retries), C.int(r.rnrRetries)))
}

// to moves the queue pair to a state that needs no attributes.
func (q hwQP) to(state int) error { return errno(C.rm_qp_state(C.uintptr_t(q), C.int(state))) }

// inError asks the adapter whether it has broken the queue pair.
func (q hwQP) inError() bool {
	a, err := q.attributes(queryState)
	return err == nil && a.state == stateError
}

// hwAttributes is what the adapter says of a queue pair.
type hwAttributes struct {
	state                             int
	pkey, sl, tclass                  int
	timeout, retries                  int
	rnrRetries, rnrTimer              int
	sendSegs, recvSegs, inline, depth int
}

// attributes asks the adapter for the attributes of mask.
func (q hwQP) attributes(mask int) (hwAttributes, error) {
	var a C.struct_rm_qp_attr
	if err := errno(C.rm_query_qp(C.uintptr_t(q), C.int(mask), &a)); err != nil {
		return hwAttributes{}, err
	}
	return hwAttributes{
		state: int(a.state), pkey: int(a.pkey_index), sl: int(a.sl), tclass: int(a.tclass),
		timeout: int(a.timeout), retries: int(a.retries), rnrRetries: int(a.rnr_retries), rnrTimer: int(a.min_rnr_timer),
		sendSegs: int(a.send_sge), recvSegs: int(a.recv_sge), inline: int(a.inline_data), depth: int(a.send_wr),
	}, nil
}

func (p hwPD) newAH(path *hwPath) (hwAH, error) {
	cp := path.c()
	var ah C.uintptr_t
	err := errno(C.rm_create_ah(C.uintptr_t(p), &cp, &ah))
	return hwAH(ah), err
}

func (a hwAH) close() error { return errno(C.rm_destroy_ah(C.uintptr_t(a))) }

// postSend posts the first n send requests of a staging area. It returns how many were
// posted, and an errno when that is not all.
func (q hwQP) postSend(d *staging, n int) (int, syscall.Errno) {
	r := int64(C.rm_post_send(C.uintptr_t(q), C.uintptr_t(d.sendAddr), C.int32_t(n)))
	return int(uint32(r)), syscall.Errno(r >> 32)
}

// postRecv posts the first n receives of a staging area, likewise.
func (q hwQP) postRecv(d *staging, n int) (int, syscall.Errno) {
	r := int64(C.rm_post_recv(C.uintptr_t(q), C.uintptr_t(d.recvAddr), C.int32_t(n)))
	return int(uint32(r)), syscall.Errno(r >> 32)
}

// poll fills up to n completions of a staging area and returns their number.
func (c hwCQ) poll(d *staging, n int) int {
	return int(C.rm_poll_cq(C.uintptr_t(c), C.int32_t(n), C.uintptr_t(d.doneAddr)))
}
