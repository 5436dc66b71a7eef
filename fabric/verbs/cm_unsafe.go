//go:build rdma

package verbs

// #include <rdma/rdma_cma.h>
// #include "cm.h"
import "C"

import (
	"fmt"
	"net/netip"

	"github.com/remora-kv/remora/fabric"
)

// Handles of librdmacm.
type (
	cmChannel uintptr
	cmID      uintptr
)

// Events of the connection manager.
const (
	cmAddrResolved    = C.RDMA_CM_EVENT_ADDR_RESOLVED
	cmRouteResolved   = C.RDMA_CM_EVENT_ROUTE_RESOLVED
	cmConnectRequest  = C.RDMA_CM_EVENT_CONNECT_REQUEST
	cmConnectResponse = C.RDMA_CM_EVENT_CONNECT_RESPONSE
	cmDisconnected    = C.RDMA_CM_EVENT_DISCONNECTED
)

func loadManager() error {
	var why [256]C.char
	if C.rm_cm_load(&why[0], C.int(len(why))) != 0 {
		return fmt.Errorf("%s: install it with apt-get install librdmacm1, or dnf install librdmacm: %w",
			C.GoString(&why[0]), fabric.ErrUnsupported)
	}
	return nil
}

func openManager() (ch cmChannel, fd int, err error) {
	var c C.uintptr_t
	var f C.int32_t
	err = errno(C.rm_cm_open(&c, &f))
	return cmChannel(c), int(f), err
}

func (c cmChannel) close() { C.rm_cm_close(C.uintptr_t(c)) }

func cmAddr(a netip.AddrPort) C.struct_rm_cm_addr {
	out := C.struct_rm_cm_addr{port: C.uint16_t(a.Port())}
	for i, b := range a.Addr().As16() {
		out.ip[i] = C.uint8_t(b)
	}
	return out
}

// listen listens at an address of the adapter and returns the port.
func (c cmChannel) listen(ip netip.Addr, backlog int) (cmID, netip.AddrPort, error) {
	addr := cmAddr(netip.AddrPortFrom(ip, 0))
	var id C.uintptr_t
	err := errno(C.rm_cm_listen(C.uintptr_t(c), &addr, C.int(backlog), &id))
	return cmID(id), netip.AddrPortFrom(ip, uint16(addr.port)), err
}

func (c cmChannel) create() (cmID, error) {
	var id C.uintptr_t
	err := errno(C.rm_cm_create(C.uintptr_t(c), &id))
	return cmID(id), err
}

// close frees an identifier. Its events have been taken.
func (i cmID) close() { _ = C.rm_cm_destroy(C.uintptr_t(i)) }

// setTOS sets the traffic class, before the address is resolved.
func (i cmID) setTOS(tclass int) error {
	return errno(C.rm_cm_set_tos(C.uintptr_t(i), C.uint8_t(tclass)))
}

func (i cmID) resolveAddr(from netip.Addr, to netip.AddrPort, ms int) error {
	src, dst := cmAddr(netip.AddrPortFrom(from, 0)), cmAddr(to)
	return errno(C.rm_cm_resolve_addr(C.uintptr_t(i), &src, &dst, C.int(ms)))
}

func (i cmID) resolveRoute(ms int) error {
	return errno(C.rm_cm_resolve_route(C.uintptr_t(i), C.int(ms)))
}

// device returns where an identifier is bound to.
func (i cmID) device() (name string, port int) {
	var p C.int
	name = C.GoString(C.rm_cm_device(C.uintptr_t(i), &p))
	return name, int(p)
}

// cmParam is what the ends tell each other through the manager.
type cmParam struct {
	token               uint64
	qpn                 uint32
	answers, starts     int // READs and atomics in flight
	retries, rnrRetries int
}

func (p *cmParam) c() C.struct_rm_cm_param {
	return C.struct_rm_cm_param{
		token: C.uint64_t(p.token), qp_num: C.uint32_t(p.qpn), answers: C.uint8_t(p.answers),
		starts: C.uint8_t(p.starts), retries: C.uint8_t(p.retries), rnr_retries: C.uint8_t(p.rnrRetries),
	}
}

func (i cmID) connect(p *cmParam) error {
	c := p.c()
	return errno(C.rm_cm_connect(C.uintptr_t(i), &c))
}

func (i cmID) accept(p *cmParam) error {
	c := p.c()
	return errno(C.rm_cm_accept(C.uintptr_t(i), &c))
}

func (i cmID) establish() error  { return errno(C.rm_cm_establish(C.uintptr_t(i))) }
func (i cmID) reject() error     { return errno(C.rm_cm_reject(C.uintptr_t(i))) }
func (i cmID) disconnect() error { return errno(C.rm_cm_disconnect(C.uintptr_t(i))) }

// connectQP makes a queue pair ready for the peer that the manager knows.
func (i cmID) connectQP(q hwQP, access, answered, started, rnrTimer int, r reliability, t *Tuning) error {
	c := C.struct_rm_cm_qp{
		qp: C.uintptr_t(q), access: C.int32_t(access), reads_answered: C.int32_t(answered),
		reads_started: C.int32_t(started), min_rnr_timer: C.int32_t(rnrTimer), timeout: C.int32_t(r.timeout),
		retries: C.int32_t(r.retries), rnr_retries: C.int32_t(r.rnrRetries),
		sl: C.int32_t(t.SL.Or(-1)), tclass: C.int32_t(t.TClass.Or(-1)), pkey_index: C.int32_t(t.PKey.Or(-1)),
	}
	return errno(C.rm_cm_connect_qp(C.uintptr_t(i), &c))
}

// cmEvent is an event of the connection manager.
type cmEvent struct {
	kind       uint32
	status     int
	id, listen cmID
	token      uint64
}

// event takes the next event; syscall.EAGAIN when there is none.
func (c cmChannel) event() (cmEvent, error) {
	var e C.struct_rm_cm_event
	if err := errno(C.rm_cm_event(C.uintptr_t(c), &e)); err != nil {
		return cmEvent{}, err
	}
	return cmEvent{
		kind: uint32(e._type), status: int(e.status), id: cmID(e.id), listen: cmID(e.listen), token: uint64(e.token),
	}, nil
}

func cmEventName(kind uint32) string { return C.GoString(C.rm_cm_event_name(C.uint32_t(kind))) }
