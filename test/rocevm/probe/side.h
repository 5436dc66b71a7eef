/*
 * What the programs of this directory share: a device, and sides of connections
 * over it. Each program includes this once.
 */
#ifndef ROCEVM_SIDE_H
#define ROCEVM_SIDE_H

#include <errno.h>
#include <infiniband/verbs.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	BUFFER = 32 << 10,	/* each side's registered memory */
	DEPTH = 64,		/* requests and receives of a queue pair */
	QKEY = 0x11111111,
	FIRST_PSN = 100,
};

/* What is shared by all sides. */
static struct ibv_context *dev;
static struct ibv_device_attr attr;
static struct ibv_port_attr port;
static uint8_t port_num;
static int gid_index;
static union ibv_gid gid;
static struct ibv_pd *pd;

/* One end of a connection, with memory and a completion queue of its own. */
struct side {
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	char *buf;
	uint32_t inline_max;
};

static char reason[256];

/* fail notes why a check failed and returns -1. */
static int fail(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(reason, sizeof reason, format, args);
	va_end(args);
	return -1;
}

static int fail_errno(const char *what)
{
	return fail("%s: %s", what, strerror(errno));
}

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* fill writes a pattern that depends on the place and on a seed. */
static void fill(char *p, int n, int seed)
{
	for (int i = 0; i < n; i++)
		p[i] = (char)(i * 7 + seed);
}

static int filled(const char *p, int n, int seed)
{
	for (int i = 0; i < n; i++)
		if (p[i] != (char)(i * 7 + seed))
			return fail("wrong byte at %d of %d", i, n);
	return 0;
}

/* ---- sides ---- */

static void destroy(struct side *s)
{
	if (s->qp)
		ibv_destroy_qp(s->qp);
	if (s->mr)
		ibv_dereg_mr(s->mr);
	if (s->cq)
		ibv_destroy_cq(s->cq);
	if (s->channel)
		ibv_destroy_comp_channel(s->channel);
	free(s->buf);
	memset(s, 0, sizeof *s);
}

static int create_qp(struct side *s, enum ibv_qp_type type, uint32_t inline_size)
{
	struct ibv_qp_init_attr init = {
		.send_cq = s->cq, .recv_cq = s->cq, .qp_type = type,
		.cap = { .max_send_wr = DEPTH, .max_recv_wr = DEPTH, .max_send_sge = 2,
			 .max_recv_sge = 2, .max_inline_data = inline_size },
	};
	s->qp = ibv_create_qp(pd, &init);
	if (!s->qp)
		return fail_errno("ibv_create_qp");
	s->inline_max = init.cap.max_inline_data;
	return 0;
}

static int create(struct side *s, enum ibv_qp_type type, uint32_t inline_size)
{
	memset(s, 0, sizeof *s);
	int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
	if (attr.atomic_cap != IBV_ATOMIC_NONE)
		access |= IBV_ACCESS_REMOTE_ATOMIC;
	s->buf = aligned_alloc(4096, BUFFER);
	if (!s->buf)
		return fail("no memory");
	memset(s->buf, 0, BUFFER);
	if (!(s->mr = ibv_reg_mr(pd, s->buf, BUFFER, access)))
		return fail_errno("ibv_reg_mr");
	if (!(s->channel = ibv_create_comp_channel(dev)))
		return fail_errno("ibv_create_comp_channel");
	if (!(s->cq = ibv_create_cq(dev, 2 * DEPTH, NULL, s->channel, 0)))
		return fail_errno("ibv_create_cq");
	return create_qp(s, type, inline_size);
}

static int to_init(struct ibv_qp *qp)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_INIT, .port_num = port_num };
	int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
	if (qp->qp_type == IBV_QPT_UD) {
		a.qkey = QKEY;
		mask |= IBV_QP_QKEY;
	} else {
		a.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
		if (qp->qp_type == IBV_QPT_RC)
			a.qp_access_flags |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
		mask |= IBV_QP_ACCESS_FLAGS;
	}
	return ibv_modify_qp(qp, &a, mask) ? fail_errno("to INIT") : 0;
}

static int rd_atomic(void)
{
	int n = attr.max_qp_rd_atom < attr.max_qp_init_rd_atom ? attr.max_qp_rd_atom : attr.max_qp_init_rd_atom;
	return n > 128 ? 128 : n;
}

static int to_rtr(struct ibv_qp *qp, uint32_t peer, union ibv_gid peer_gid)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RTR, .path_mtu = port.active_mtu, .dest_qp_num = peer, .rq_psn = FIRST_PSN,
		.ah_attr = { .is_global = 1, .port_num = port_num,
			     .grh = { .dgid = peer_gid, .sgid_index = (uint8_t)gid_index, .hop_limit = 64 } },
	};
	int mask = IBV_QP_STATE;
	if (qp->qp_type != IBV_QPT_UD)
		mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	if (qp->qp_type == IBV_QPT_RC) {
		a.max_dest_rd_atomic = (uint8_t)rd_atomic();
		a.min_rnr_timer = 12;
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	}
	return ibv_modify_qp(qp, &a, mask) ? fail_errno("to RTR") : 0;
}

/* to_rts gives RC a timeout of 4.096 us * 2^timeout. Mind that rdma_rxe takes a
 * retry count of 7 for ever: such a queue pair never notices that its peer is
 * gone. */
static int to_rts(struct ibv_qp *qp, int timeout, int retries)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_RTS, .sq_psn = FIRST_PSN };
	int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
	if (qp->qp_type == IBV_QPT_RC) {
		a.timeout = (uint8_t)timeout;
		a.retry_cnt = (uint8_t)retries;
		a.rnr_retry = 7;
		a.max_rd_atomic = (uint8_t)rd_atomic();
		mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
	}
	return ibv_modify_qp(qp, &a, mask) ? fail_errno("to RTS") : 0;
}

static int open_device(const char *name)
{
	int n = 0;
	struct ibv_device **devices = ibv_get_device_list(&n);
	if (!devices)
		return fail_errno("ibv_get_device_list");
	for (int i = 0; i < n; i++)
		if (strcmp(ibv_get_device_name(devices[i]), name) == 0)
			dev = ibv_open_device(devices[i]);
	ibv_free_device_list(devices);
	if (!dev)
		return fail("cannot open %s among %d devices", name, n);
	if (ibv_query_device(dev, &attr))
		return fail_errno("ibv_query_device");
	if (ibv_query_port(dev, port_num, &port))
		return fail_errno("ibv_query_port");
	if (ibv_query_gid(dev, port_num, gid_index, &gid))
		return fail_errno("ibv_query_gid");
	if (!(pd = ibv_alloc_pd(dev)))
		return fail_errno("ibv_alloc_pd");
	return 0;
}

#endif
