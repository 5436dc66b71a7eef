// The C side of package verbs: libibverbs opened at run time, and calls that
// do many things at once. Handles are passed as integers; nothing that Go
// passes in is kept.
#ifndef REMORA_VERBS_SHIM_H
#define REMORA_VERBS_SHIM_H

#include <infiniband/verbs.h>
#include <stddef.h>
#include <stdint.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "package verbs writes work requests in little-endian order"
#endif

// What Go mirrors as sendWR; see staging_unsafe.go.
_Static_assert(sizeof(struct ibv_send_wr) == 128, "ibv_send_wr");
_Static_assert(offsetof(struct ibv_send_wr, wr_id) == 0, "wr_id");
_Static_assert(offsetof(struct ibv_send_wr, next) == 8, "next");
_Static_assert(offsetof(struct ibv_send_wr, sg_list) == 16, "sg_list");
_Static_assert(offsetof(struct ibv_send_wr, num_sge) == 24, "num_sge");
_Static_assert(offsetof(struct ibv_send_wr, opcode) == 28, "opcode");
_Static_assert(offsetof(struct ibv_send_wr, send_flags) == 32, "send_flags");
_Static_assert(offsetof(struct ibv_send_wr, imm_data) == 36, "imm_data");
_Static_assert(offsetof(struct ibv_send_wr, wr.rdma.remote_addr) == 40, "remote_addr");
_Static_assert(offsetof(struct ibv_send_wr, wr.rdma.rkey) == 48, "rkey");
_Static_assert(offsetof(struct ibv_send_wr, wr.atomic.remote_addr) == 40, "atomic addr");
_Static_assert(offsetof(struct ibv_send_wr, wr.atomic.compare_add) == 48, "compare_add");
_Static_assert(offsetof(struct ibv_send_wr, wr.atomic.swap) == 56, "swap");
_Static_assert(offsetof(struct ibv_send_wr, wr.atomic.rkey) == 64, "atomic rkey");
_Static_assert(offsetof(struct ibv_send_wr, wr.ud.ah) == 40, "ah");
_Static_assert(offsetof(struct ibv_send_wr, wr.ud.remote_qpn) == 48, "remote_qpn");
_Static_assert(offsetof(struct ibv_send_wr, wr.ud.remote_qkey) == 52, "remote_qkey");
// recvWR
_Static_assert(sizeof(struct ibv_recv_wr) == 32, "ibv_recv_wr");
_Static_assert(offsetof(struct ibv_recv_wr, next) == 8, "next");
_Static_assert(offsetof(struct ibv_recv_wr, sg_list) == 16, "sg_list");
_Static_assert(offsetof(struct ibv_recv_wr, num_sge) == 24, "num_sge");
// sge
_Static_assert(sizeof(struct ibv_sge) == 16, "ibv_sge");
_Static_assert(offsetof(struct ibv_sge, length) == 8, "length");
_Static_assert(offsetof(struct ibv_sge, lkey) == 12, "lkey");
// workCompletion
_Static_assert(sizeof(struct ibv_wc) == 48, "ibv_wc");
_Static_assert(offsetof(struct ibv_wc, status) == 8, "status");
_Static_assert(offsetof(struct ibv_wc, opcode) == 12, "opcode");
_Static_assert(offsetof(struct ibv_wc, byte_len) == 20, "byte_len");
_Static_assert(offsetof(struct ibv_wc, imm_data) == 24, "imm_data");
_Static_assert(offsetof(struct ibv_wc, qp_num) == 28, "qp_num");
_Static_assert(offsetof(struct ibv_wc, src_qp) == 32, "src_qp");
_Static_assert(offsetof(struct ibv_wc, wc_flags) == 36, "wc_flags");

// rm_load opens the library. It returns 0, or -1 with the reason in why.
int rm_load(char *why, int size);

// Functions that return int return 0 or an errno, unless they say otherwise.

// rm_list writes the names of the devices, each in 64 bytes, and their number
// to n.
int rm_list(char *names, int max, int *n);

int rm_open(const char *name, uintptr_t *ctx);
int rm_close(uintptr_t ctx);
int rm_async_fd(uintptr_t ctx);

struct rm_caps {
	uint64_t max_mr_size;
	uint32_t max_qp_wr, max_sge, max_cqe, max_rd_atom, max_init_rd_atom;
	uint32_t atomics, ports, vendor;
	char firmware[64];
};
int rm_query_device(uintptr_t ctx, struct rm_caps *caps);

struct rm_port {
	uint32_t state, mtu, max_msg, lid, link_layer, pkeys;
};
int rm_query_port(uintptr_t ctx, int port, struct rm_port *p);
// rm_query_pkey writes a partition key; 0 is none.
int rm_query_pkey(uintptr_t ctx, int port, int index, uint16_t *key);
int rm_comp_vectors(uintptr_t ctx);

struct rm_gid {
	uint8_t gid[16];
	uint32_t index, type, ifindex;
};
// rm_query_gids writes the GIDs of a port that are set and returns their
// number, or -errno; -ENOSYS when the library is too old to say.
int rm_query_gids(uintptr_t ctx, int port, struct rm_gid *out, int max);

struct rm_event {
	uint32_t type;
	uint32_t qp_num; // of events about a queue pair
	uintptr_t cq;    // of events about a completion queue
	uint32_t port;   // of events about a port
};
// rm_async_event takes the next asynchronous event; EAGAIN when there is none.
int rm_async_event(uintptr_t ctx, struct rm_event *ev);
const char *rm_event_name(uint32_t type);

int rm_alloc_pd(uintptr_t ctx, uintptr_t *pd);
int rm_dealloc_pd(uintptr_t pd);

struct rm_mr {
	uintptr_t mr;
	uint32_t lkey, rkey;
};
int rm_reg_mr(uintptr_t pd, uintptr_t addr, uint64_t len, int access, struct rm_mr *out);
int rm_dereg_mr(uintptr_t mr);

struct rm_cq {
	uintptr_t cq, channel;
	int32_t fd, depth;
};
// rm_create_cq makes a completion queue with a channel of its own, which does
// not block.
int rm_create_cq(uintptr_t ctx, int depth, int vector, struct rm_cq *out);
int rm_destroy_cq(uintptr_t cq, uintptr_t channel);
int rm_arm_cq(uintptr_t cq, int solicited_only);
// rm_drain_events takes all events of a channel and returns their number.
int rm_drain_events(uintptr_t cq, uintptr_t channel);

struct rm_qp_init {
	uintptr_t pd, send_cq, recv_cq;
	uint32_t type, send_wr, recv_wr, send_sge, recv_sge, inline_data;
};
struct rm_qp {
	uintptr_t qp;
	uint32_t num, inline_data;
};
int rm_create_qp(const struct rm_qp_init *init, struct rm_qp *out);
int rm_destroy_qp(uintptr_t qp);

// struct rm_path is the other end, and how it is reached.
struct rm_path {
	uint8_t gid[16];
	uint32_t qpn, psn, mtu, lid;
	uint8_t global, sgid_index, port, sl, tclass;
};
int rm_qp_init_state(uintptr_t qp, int type, int port, int pkey_index, int access, uint32_t qkey);
int rm_qp_rtr(uintptr_t qp, int type, const struct rm_path *path, int dest_reads, int min_rnr_timer);
int rm_qp_rts(uintptr_t qp, int type, uint32_t psn, int reads, int timeout, int retry, int rnr_retry);
int rm_qp_state(uintptr_t qp, int state);

struct rm_qp_attr {
	uint32_t state, pkey_index, sl, tclass;
	uint32_t timeout, retries, rnr_retries, min_rnr_timer;
	uint32_t send_sge, recv_sge, inline_data, send_wr;
};
// rm_query_qp asks for the attributes of mask.
int rm_query_qp(uintptr_t qp, int mask, struct rm_qp_attr *out);

int rm_create_ah(uintptr_t pd, const struct rm_path *path, uintptr_t *ah);
int rm_destroy_ah(uintptr_t ah);

// rm_post_send posts n requests that lie one behind the other from first. It
// returns errno << 32 | requests posted.
int64_t rm_post_send(uintptr_t qp, uintptr_t first, int32_t n);
int64_t rm_post_recv(uintptr_t qp, uintptr_t first, int32_t n);
// rm_post_and_poll is rm_post_send followed by rm_poll_cq, in one call. What it
// is given and what it answers are in memory that both sides know: passing
// them costs more than the work that is done here.
struct rm_post_call {
	uintptr_t qp, first, cq, wc;
	int32_t n, room;          // requests to post, completions to poll at most
	int32_t err, posted, got; // errno, requests posted, completions polled
};
void rm_post_and_poll(uintptr_t call);
// rm_poll_cq fills up to n completions and returns their number, or a negative
// number.
int32_t rm_poll_cq(uintptr_t cq, int32_t n, uintptr_t wc);

#endif
