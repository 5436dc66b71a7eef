/*
 * Says what the verbs of this machine can do, by doing it: one process, queue
 * pairs connected to themselves over one device, every answer checked.
 *
 *     probe DEVICE PORT GID-INDEX
 *
 * prints a line per capability, fields separated by tabs:
 *
 *     SUBJECT  CAPABILITY  ok|no|is  TEXT
 *
 * "is" states a value that cannot fail. The last line is "end". A probe that
 * prints no end has failed as a whole.
 */
#include <arpa/inet.h>
#include <poll.h>
#include <rdma/rdma_cma.h>

#include "side.h"

enum {
	LARGE = 8 << 10,	/* a message of several packets */
	SMALL = 64,		/* a message of one packet */
	GRH = 40,		/* header before a received datagram */
	MANY = 64,		/* pairs of queue pairs in the crowd */
	EACH = 16,		/* sends of each of them */
	IMM = 0x12345678,
};

static const double patience = 5;	/* seconds until something counts as lost */

static void report(const char *subject, const char *capability, int failed)
{
	printf("%s\t%s\t%s\t%s\n", subject, capability, failed ? "no" : "ok", failed ? reason : "");
	fflush(stdout);
}

static void state(const char *subject, const char *capability, const char *format, ...)
{
	va_list args;
	printf("%s\t%s\tis\t", subject, capability);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
}

static const char *transport(enum ibv_qp_type type)
{
	switch (type) {
	case IBV_QPT_RC: return "RC";
	case IBV_QPT_UC: return "UC";
	case IBV_QPT_UD: return "UD";
	default: return "?";
	}
}

/* ---- connections ---- */

static int join(struct ibv_qp *a, struct ibv_qp *b)
{
	if (to_init(a) || to_init(b) || to_rtr(a, b->qp_num, gid) || to_rtr(b, a->qp_num, gid) ||
	    to_rts(a, 14, 6) || to_rts(b, 14, 6))
		return -1;
	return 0;
}

/* make_pair makes two connected sides; both must be destroyed in any case. */
static int make_pair(struct side *a, struct side *b, enum ibv_qp_type type, uint32_t inline_size)
{
	memset(b, 0, sizeof *b);
	if (create(a, type, inline_size) || create(b, type, inline_size))
		return -1;
	return join(a->qp, b->qp);
}

/* ---- requests ---- */

static int wait_wc(struct ibv_cq *cq, struct ibv_wc *wc)
{
	double deadline = now() + patience;
	for (;;) {
		int n = ibv_poll_cq(cq, 1, wc);
		if (n < 0)
			return fail("ibv_poll_cq failed");
		if (n == 1)
			break;
		if (now() > deadline)
			return fail("no completion in %.0f s", patience);
	}
	if (wc->status != IBV_WC_SUCCESS)
		return fail("completion says: %s", ibv_wc_status_str(wc->status));
	return 0;
}

static int post_recv(struct side *s, uint32_t offset, uint32_t length)
{
	struct ibv_sge sge = { .addr = (uintptr_t)s->buf + offset, .length = length, .lkey = s->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = 7, .sg_list = &sge, .num_sge = 1 }, *bad;
	int err = ibv_post_recv(s->qp, &wr, &bad);
	return err ? fail("ibv_post_recv: %s", strerror(err)) : 0;
}

/* post sends from the beginning of a's buffer to the second half of b's. */
static int post(struct side *a, struct side *b, struct ibv_send_wr *wr, uint32_t length)
{
	struct ibv_sge sge = { .addr = (uintptr_t)a->buf, .length = length, .lkey = a->mr->lkey };
	struct ibv_send_wr *bad;
	struct ibv_ah *ah = NULL;
	wr->sg_list = &sge;
	wr->num_sge = 1;
	wr->send_flags |= IBV_SEND_SIGNALED;
	if (a->qp->qp_type == IBV_QPT_UD) {
		struct ibv_ah_attr to = { .is_global = 1, .port_num = port_num,
			.grh = { .dgid = gid, .sgid_index = (uint8_t)gid_index, .hop_limit = 64 } };
		if (!(ah = ibv_create_ah(pd, &to)))
			return fail_errno("ibv_create_ah");
		wr->wr.ud.ah = ah;
		wr->wr.ud.remote_qpn = b->qp->qp_num;
		wr->wr.ud.remote_qkey = QKEY;
	} else if (wr->opcode == IBV_WR_RDMA_WRITE || wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM || wr->opcode == IBV_WR_RDMA_READ) {
		wr->wr.rdma.remote_addr = (uintptr_t)b->buf + BUFFER / 2;
		wr->wr.rdma.rkey = b->mr->rkey;
	} else {
		wr->wr.atomic.remote_addr = (uintptr_t)b->buf + BUFFER / 2;
		wr->wr.atomic.rkey = b->mr->rkey;
	}
	int err = ibv_post_send(a->qp, wr, &bad);
	if (err) {
		if (ah)
			ibv_destroy_ah(ah);
		return fail("ibv_post_send: %s", strerror(err));
	}
	if (wr->send_flags & IBV_SEND_INLINE)
		memset(a->buf, 0xee, length);	/* inline data has been taken */
	struct ibv_wc wc;
	int failed = wait_wc(a->cq, &wc);
	if (ah)
		ibv_destroy_ah(ah);
	return failed;
}

static int check_send(struct side *a, struct side *b, uint32_t length, unsigned flags)
{
	int header = a->qp->qp_type == IBV_QPT_UD ? GRH : 0;
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .send_flags = flags };
	struct ibv_wc wc;
	fill(a->buf, (int)length, 1);
	memset(b->buf, 0, BUFFER);
	if (post_recv(b, 0, length + (uint32_t)header) || post(a, b, &wr, length) || wait_wc(b->cq, &wc))
		return -1;
	if (wc.opcode != IBV_WC_RECV || wc.byte_len != length + (uint32_t)header)
		return fail("receive of %u bytes, opcode %d", wc.byte_len, wc.opcode);
	return filled(b->buf + header, (int)length, 1);
}

/* check_write waits for the bytes themselves: on UC the own completion says
 * nothing about the target. */
static int check_write(struct side *a, struct side *b, uint32_t length, unsigned flags)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE, .send_flags = flags };
	fill(a->buf, (int)length, 2);
	memset(b->buf, 0, BUFFER);
	if (post(a, b, &wr, length))
		return -1;
	double deadline = now() + patience;
	volatile char *last = b->buf + BUFFER / 2 + length - 1;
	while (*last != (char)((length - 1) * 7 + 2))
		if (now() > deadline)
			return fail("the bytes did not arrive in %.0f s", patience);
	return filled(b->buf + BUFFER / 2, (int)length, 2);
}

static int check_write_imm(struct side *a, struct side *b)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE_WITH_IMM, .imm_data = htonl(IMM) };
	struct ibv_wc wc;
	fill(a->buf, LARGE, 3);
	memset(b->buf, 0, BUFFER);
	if (post_recv(b, 0, 0) || post(a, b, &wr, LARGE) || wait_wc(b->cq, &wc))
		return -1;
	if (wc.opcode != IBV_WC_RECV_RDMA_WITH_IMM || !(wc.wc_flags & IBV_WC_WITH_IMM) || ntohl(wc.imm_data) != IMM)
		return fail("receive has opcode %d, flags %#x, immediate %#x", wc.opcode, wc.wc_flags, ntohl(wc.imm_data));
	if (wc.byte_len != LARGE)
		return fail("receive says %u bytes of %d", wc.byte_len, LARGE);
	return filled(b->buf + BUFFER / 2, LARGE, 3);
}

static int check_read(struct side *a, struct side *b)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_READ };
	memset(a->buf, 0, BUFFER);
	fill(b->buf + BUFFER / 2, LARGE, 4);
	if (post(a, b, &wr, LARGE))
		return -1;
	return filled(a->buf, LARGE, 4);
}

static int check_atomic(struct side *a, struct side *b, enum ibv_wr_opcode opcode, uint64_t old, uint64_t operand,
			uint64_t swap, uint64_t expected)
{
	struct ibv_send_wr wr = { .opcode = opcode };
	volatile uint64_t *word = (volatile uint64_t *)(void *)(b->buf + BUFFER / 2);
	*word = old;
	memset(a->buf, 0, 8);
	wr.wr.atomic.compare_add = operand;
	wr.wr.atomic.swap = swap;
	if (post(a, b, &wr, 8))
		return -1;
	uint64_t got;
	memcpy(&got, a->buf, 8);
	if (got != old || *word != expected)
		return fail("returned %#llx and left %#llx, not %#llx and %#llx", (unsigned long long)got,
			    (unsigned long long)*word, (unsigned long long)old, (unsigned long long)expected);
	return 0;
}

static int check_cmp_swap(struct side *a, struct side *b)
{
	if (check_atomic(a, b, IBV_WR_ATOMIC_CMP_AND_SWP, 41, 41, 99, 99))
		return -1;
	return check_atomic(a, b, IBV_WR_ATOMIC_CMP_AND_SWP, 41, 40, 99, 41);
}

/* check_event arms the receiver's queue, sends, and expects a wake-up if and
 * only if it should come. */
static int check_event(struct side *a, struct side *b, int solicited_only, unsigned flags, int expected)
{
	if (ibv_req_notify_cq(b->cq, solicited_only))
		return fail_errno("ibv_req_notify_cq");
	if (check_send(a, b, SMALL, flags))
		return -1;
	struct pollfd p = { .fd = b->channel->fd, .events = POLLIN };
	int n = poll(&p, 1, expected ? (int)(patience * 1000) : 200);
	if (n != expected)
		return fail(expected ? "no event" : "an event for a send that was not solicited");
	if (n == 1) {
		struct ibv_cq *cq;
		void *context;
		if (ibv_get_cq_event(b->channel, &cq, &context))
			return fail_errno("ibv_get_cq_event");
		ibv_ack_cq_events(cq, 1);
	}
	return 0;
}

static int check_solicited(struct side *a, struct side *b)
{
	if (check_event(a, b, 1, 0, 0))
		return -1;
	return check_event(a, b, 1, IBV_SEND_SOLICITED, 1);
}

/* ---- failures ---- */

/* check_gives_up sends to a queue pair that does not exist: RC must repeat, and
 * then say that it has repeated enough. */
static int check_gives_up(int retries)
{
	struct side s;
	struct ibv_wc wc;
	int failed = create(&s, IBV_QPT_RC, 0) || to_init(s.qp) || to_rtr(s.qp, 0xfffff0, gid) || to_rts(s.qp, 10, retries);
	struct ibv_sge sge = { .addr = failed ? 0 : (uintptr_t)s.buf, .length = SMALL, .lkey = failed ? 0 : s.mr->lkey };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED, .sg_list = &sge, .num_sge = 1 }, *bad;
	if (!failed && ibv_post_send(s.qp, &wr, &bad))
		failed = fail("ibv_post_send failed");
	double deadline = now() + patience / 2;
	int n = 0;
	while (!failed && (n = ibv_poll_cq(s.cq, 1, &wc)) == 0)
		if (now() > deadline)
			failed = fail("no completion in %.1f s: it repeats for ever", patience / 2);
	if (!failed && (n != 1 || wc.status != IBV_WC_RETRY_EXC_ERR))
		failed = fail("completion says: %s", ibv_wc_status_str(wc.status));
	destroy(&s);
	return failed;
}

/* check_bad_key reads with a key that opens nothing. */
static int check_bad_key(struct side *a, struct side *b)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_READ };
	b->mr->rkey ^= 0x5a00;	/* the library's copy; the kernel knows the true one */
	int failed = post(a, b, &wr, SMALL);
	b->mr->rkey ^= 0x5a00;
	if (!failed)
		return fail("the target was read");
	return strstr(reason, ibv_wc_status_str(IBV_WC_REM_ACCESS_ERR)) ? 0 : -1;
}

/* ---- a crowd: kernels have been seen to lose completions among many ---- */

static int drain(struct ibv_cq *cq, int expected)
{
	double deadline = now() + 4 * patience;
	struct ibv_wc wc[16];
	for (int got = 0; got < expected;) {
		int n = ibv_poll_cq(cq, 16, wc);
		for (int i = 0; i < n; i++)
			if (wc[i].status != IBV_WC_SUCCESS)
				return fail("completion %d says: %s", got + i, ibv_wc_status_str(wc[i].status));
		got += n;
		if (n < 0 || now() > deadline)
			return fail("%d of %d completions in %.0f s", got, expected, 4 * patience);
	}
	return 0;
}

static int crowd_round(struct side *sides, struct ibv_cq *cq)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED, .num_sge = 1 }, *bad;
	for (int i = 0; i < MANY; i++) {
		struct side *a = &sides[2 * i], *b = &sides[2 * i + 1];
		struct ibv_sge sge = { .addr = (uintptr_t)a->buf, .length = SMALL, .lkey = a->mr->lkey };
		wr.sg_list = &sge;
		for (int j = 0; j < EACH; j++) {
			if (post_recv(b, 0, SMALL))
				return -1;
			int err = ibv_post_send(a->qp, &wr, &bad);
			if (err)
				return fail("ibv_post_send: %s", strerror(err));
		}
	}
	return drain(cq, 2 * MANY * EACH);
}

static int check_crowd(void)
{
	struct side *sides = calloc(2 * MANY, sizeof *sides), shared;
	int failed = create(&shared, IBV_QPT_RC, 0);
	struct ibv_cq *cq = failed ? NULL : ibv_create_cq(dev, 2 * MANY * EACH + 1, NULL, NULL, 0);
	if (!cq && !failed)
		failed = fail_errno("ibv_create_cq");
	for (int i = 0; i < 2 * MANY && !failed; i++) {
		sides[i].cq = cq;
		sides[i].buf = shared.buf;
		sides[i].mr = shared.mr;
		failed = create_qp(&sides[i], IBV_QPT_RC, 0);
	}
	for (int i = 0; i < MANY && !failed; i++)
		failed = join(sides[2 * i].qp, sides[2 * i + 1].qp);
	if (!failed)
		failed = crowd_round(sides, cq);
	for (int i = 0; i < 2 * MANY; i++)
		if (sides[i].qp)
			ibv_destroy_qp(sides[i].qp);
	if (cq)
		ibv_destroy_cq(cq);
	destroy(&shared);
	free(sides);
	return failed;
}

/* ---- the probe ---- */

/* find_inline returns the largest inline size that a queue pair can be made with. */
static uint32_t find_inline(enum ibv_qp_type type)
{
	uint32_t good = 0, bad = 8192;
	while (good + 1 < bad) {
		uint32_t middle = (good + bad) / 2;
		struct side s;
		if (create(&s, type, middle))
			bad = middle;
		else
			good = middle;
		destroy(&s);
	}
	return good;
}

static void probe_inline(enum ibv_qp_type type)
{
	struct side a, b;
	uint32_t size = find_inline(type);
	state(transport(type), "max_inline", "%u", size);
	if (size == 0)
		return;
	int failed = make_pair(&a, &b, type, size);
	if (!failed)
		failed = check_send(&a, &b, size, IBV_SEND_INLINE);
	report(transport(type), "SEND inline", failed);
	if (type != IBV_QPT_UD) {
		if (!failed)
			failed = check_write(&a, &b, size, IBV_SEND_INLINE);
		report(transport(type), "WRITE inline", failed);
	}
	destroy(&a);
	destroy(&b);
}

/* each runs one check on a fresh pair, so that a failure breaks no other. */
#define EACH_CHECK(type, name, call)                              \
	do {                                                      \
		struct side a, b;                                 \
		int failed = make_pair(&a, &b, type, 0) || (call); \
		report(transport(type), name, failed);            \
		destroy(&a);                                      \
		destroy(&b);                                      \
	} while (0)

static void probe_transport(enum ibv_qp_type type)
{
	struct side a, b;
	int failed = make_pair(&a, &b, type, 0);
	report(transport(type), "create QP", failed);
	destroy(&a);
	destroy(&b);
	if (failed)
		return;
	EACH_CHECK(type, "SEND/RECV", check_send(&a, &b, SMALL, 0));
	if (type != IBV_QPT_UD) {
		EACH_CHECK(type, "SEND/RECV of several packets", check_send(&a, &b, LARGE, 0));
		EACH_CHECK(type, "WRITE", check_write(&a, &b, LARGE, 0));
		EACH_CHECK(type, "WRITE_IMM", check_write_imm(&a, &b));
	}
	if (type == IBV_QPT_RC) {
		EACH_CHECK(type, "READ", check_read(&a, &b));
		EACH_CHECK(type, "FETCH_ADD", check_atomic(&a, &b, IBV_WR_ATOMIC_FETCH_AND_ADD, 40, 2, 0, 42));
		EACH_CHECK(type, "CMP_SWAP", check_cmp_swap(&a, &b));
		EACH_CHECK(type, "READ with a bad key fails", check_bad_key(&a, &b));
	}
	EACH_CHECK(type, "completion event", check_event(&a, &b, 0, 0, 1));
	EACH_CHECK(type, "solicited event", check_solicited(&a, &b));
	probe_inline(type);
}

static const char *gid_type(uint32_t type)
{
	switch (type) {
	case IBV_GID_TYPE_IB: return "IB";
	case IBV_GID_TYPE_ROCE_V1: return "RoCEv1";
	case IBV_GID_TYPE_ROCE_V2: return "RoCEv2";
	default: return "unknown";
	}
}

static void probe_gids(void)
{
	struct ibv_gid_entry entries[64];
	ssize_t n = ibv_query_gid_table(dev, entries, 64, 0);
	if (n < 0) {
		fail("ibv_query_gid_table: %s", strerror((int)-n));
		report("port", "GIDs", 1);
	}
	for (ssize_t i = 0; i < n; i++) {
		char text[INET6_ADDRSTRLEN], name[32];
		inet_ntop(AF_INET6, entries[i].gid.raw, text, sizeof text);
		snprintf(name, sizeof name, "gid %u", entries[i].gid_index);
		state("port", name, "%s %s", text, gid_type(entries[i].gid_type));
	}
}

static void probe_device(void)
{
	state("device", "name", "%s", ibv_get_device_name(dev->device));
	state("device", "max_qp_rd_atom", "%d", attr.max_qp_rd_atom);
	state("device", "max_qp_init_rd_atom", "%d", attr.max_qp_init_rd_atom);
	state("device", "atomic_cap", "%s", attr.atomic_cap == IBV_ATOMIC_NONE ? "none" : attr.atomic_cap == IBV_ATOMIC_HCA ? "HCA" : "global");
	state("device", "max_qp", "%d", attr.max_qp);
	state("device", "max_qp_wr", "%d", attr.max_qp_wr);
	state("device", "max_sge", "%d", attr.max_sge);
	state("device", "max_cqe", "%d", attr.max_cqe);
	state("device", "max_mr_size", "%llu", (unsigned long long)attr.max_mr_size);
	state("device", "comp_vectors", "%d", dev->num_comp_vectors);
	state("port", "state", "%s", ibv_port_state_str(port.state));
	state("port", "active_mtu", "%d", 128 << port.active_mtu);
	state("port", "max_mtu", "%d", 128 << port.max_mtu);
	state("port", "max_msg_sz", "%u", port.max_msg_sz);
	probe_gids();
}

/* check_cm binds a connection identifier to the address of the GID. */
static int check_cm(void)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	if (!channel)
		return fail("rdma_create_event_channel: %s (is rdma_ucm loaded?)", strerror(errno));
	struct rdma_cm_id *id = NULL;
	struct sockaddr_in address = { .sin_family = AF_INET };
	memcpy(&address.sin_addr, gid.raw + 12, 4);
	int failed = 0;
	if (rdma_create_id(channel, &id, NULL, RDMA_PS_TCP))
		failed = fail_errno("rdma_create_id");
	else if (rdma_bind_addr(id, (struct sockaddr *)&address))
		failed = fail_errno("rdma_bind_addr");
	else if (!id->verbs)
		failed = fail("rdma_bind_addr found no device for the address");
	else if (rdma_listen(id, 1))
		failed = fail_errno("rdma_listen");
	if (id)
		rdma_destroy_id(id);
	rdma_destroy_event_channel(channel);
	return failed;
}

int main(int argc, char **argv)
{
	if (argc != 4) {
		fprintf(stderr, "usage: probe DEVICE PORT GID-INDEX\n");
		return 2;
	}
	port_num = (uint8_t)atoi(argv[2]);
	gid_index = atoi(argv[3]);
	if (open_device(argv[1])) {
		fprintf(stderr, "probe: %s\n", reason);
		return 1;
	}
	probe_device();
	probe_transport(IBV_QPT_RC);
	report("RC", "128 queue pairs at once", check_crowd());
	report("RC", "gives up, retry count 6", check_gives_up(6));
	report("RC", "gives up, retry count 7", check_gives_up(7));
	probe_transport(IBV_QPT_UC);
	probe_transport(IBV_QPT_UD);
	report("CM", "bind and listen", check_cm());
	ibv_dealloc_pd(pd);
	ibv_close_device(dev);
	printf("end\n");
	return 0;
}
