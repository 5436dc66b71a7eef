//go:build rdma

#include "shim.h"

#include <dlfcn.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

// The headers turn these names into inline functions that refer to the library
// at link time.
#undef ibv_reg_mr
#undef ibv_query_port

// Everything that is called by name. Posting, polling and arming go through
// the tables of the opened device.
static struct {
	struct ibv_device **(*get_device_list)(int *);
	void (*free_device_list)(struct ibv_device **);
	const char *(*get_device_name)(struct ibv_device *);
	struct ibv_context *(*open_device)(struct ibv_device *);
	int (*close_device)(struct ibv_context *);
	int (*query_device)(struct ibv_context *, struct ibv_device_attr *);
	int (*query_port)(struct ibv_context *, uint8_t, struct _compat_ibv_port_attr *);
	int (*query_pkey)(struct ibv_context *, uint8_t, int, __be16 *);
	int (*get_async_event)(struct ibv_context *, struct ibv_async_event *);
	void (*ack_async_event)(struct ibv_async_event *);
	const char *(*event_type_str)(enum ibv_event_type);
	struct ibv_pd *(*alloc_pd)(struct ibv_context *);
	int (*dealloc_pd)(struct ibv_pd *);
	struct ibv_mr *(*reg_mr)(struct ibv_pd *, void *, size_t, int);
	int (*dereg_mr)(struct ibv_mr *);
	struct ibv_comp_channel *(*create_comp_channel)(struct ibv_context *);
	int (*destroy_comp_channel)(struct ibv_comp_channel *);
	struct ibv_cq *(*create_cq)(struct ibv_context *, int, void *, struct ibv_comp_channel *, int);
	int (*destroy_cq)(struct ibv_cq *);
	int (*get_cq_event)(struct ibv_comp_channel *, struct ibv_cq **, void **);
	void (*ack_cq_events)(struct ibv_cq *, unsigned int);
	struct ibv_qp *(*create_qp)(struct ibv_pd *, struct ibv_qp_init_attr *);
	int (*modify_qp)(struct ibv_qp *, struct ibv_qp_attr *, int);
	int (*query_qp)(struct ibv_qp *, struct ibv_qp_attr *, int, struct ibv_qp_init_attr *);
	int (*destroy_qp)(struct ibv_qp *);
	struct ibv_ah *(*create_ah)(struct ibv_pd *, struct ibv_ah_attr *);
	int (*destroy_ah)(struct ibv_ah *);
	// Since rdma-core 32; may be missing.
	ssize_t (*query_gid_table)(struct ibv_context *, struct ibv_gid_entry *, size_t, uint32_t, size_t);
} lib;

static const struct {
	const char *name;
	void **where;
} symbols[] = {
	{"ibv_get_device_list", (void **)&lib.get_device_list},
	{"ibv_free_device_list", (void **)&lib.free_device_list},
	{"ibv_get_device_name", (void **)&lib.get_device_name},
	{"ibv_open_device", (void **)&lib.open_device},
	{"ibv_close_device", (void **)&lib.close_device},
	{"ibv_query_device", (void **)&lib.query_device},
	{"ibv_query_port", (void **)&lib.query_port},
	{"ibv_query_pkey", (void **)&lib.query_pkey},
	{"ibv_get_async_event", (void **)&lib.get_async_event},
	{"ibv_ack_async_event", (void **)&lib.ack_async_event},
	{"ibv_event_type_str", (void **)&lib.event_type_str},
	{"ibv_alloc_pd", (void **)&lib.alloc_pd},
	{"ibv_dealloc_pd", (void **)&lib.dealloc_pd},
	{"ibv_reg_mr", (void **)&lib.reg_mr},
	{"ibv_dereg_mr", (void **)&lib.dereg_mr},
	{"ibv_create_comp_channel", (void **)&lib.create_comp_channel},
	{"ibv_destroy_comp_channel", (void **)&lib.destroy_comp_channel},
	{"ibv_create_cq", (void **)&lib.create_cq},
	{"ibv_destroy_cq", (void **)&lib.destroy_cq},
	{"ibv_get_cq_event", (void **)&lib.get_cq_event},
	{"ibv_ack_cq_events", (void **)&lib.ack_cq_events},
	{"ibv_create_qp", (void **)&lib.create_qp},
	{"ibv_modify_qp", (void **)&lib.modify_qp},
	{"ibv_query_qp", (void **)&lib.query_qp},
	{"ibv_destroy_qp", (void **)&lib.destroy_qp},
	{"ibv_create_ah", (void **)&lib.create_ah},
	{"ibv_destroy_ah", (void **)&lib.destroy_ah},
};

static pthread_mutex_t load_lock = PTHREAD_MUTEX_INITIALIZER;
static int loaded;

static int load(char *why, int size)
{
	void *so = dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!so) {
		snprintf(why, size, "%s", dlerror());
		return -1;
	}
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		*symbols[i].where = dlsym(so, symbols[i].name);
		if (!*symbols[i].where) {
			snprintf(why, size, "libibverbs.so.1 has no %s", symbols[i].name);
			dlclose(so);
			return -1;
		}
	}
	*(void **)&lib.query_gid_table = dlsym(so, "_ibv_query_gid_table");
	return 0;
}

int rm_load(char *why, int size)
{
	pthread_mutex_lock(&load_lock);
	int err = loaded ? 0 : load(why, size);
	if (!err)
		loaded = 1;
	pthread_mutex_unlock(&load_lock);
	return err;
}

// failed is the errno of a function that says no more than that it failed.
static int failed(void) { return errno ? errno : EIO; }

// result is for functions that return an errno, or -1 and set it.
static int result(int rc) { return rc < 0 ? failed() : rc; }

int rm_list(char *names, int max, int *n)
{
	int all = 0;
	errno = 0;
	struct ibv_device **list = lib.get_device_list(&all);
	if (!list)
		return failed();
	*n = 0;
	for (int i = 0; i < all && *n < max; i++)
		snprintf(names + 64 * (*n)++, 64, "%s", lib.get_device_name(list[i]));
	lib.free_device_list(list);
	return 0;
}

int rm_open(const char *name, uintptr_t *ctx)
{
	errno = 0;
	struct ibv_device **list = lib.get_device_list(NULL);
	if (!list)
		return failed();
	int err = ENODEV;
	for (int i = 0; list[i]; i++) {
		if (strcmp(lib.get_device_name(list[i]), name))
			continue;
		struct ibv_context *c = lib.open_device(list[i]);
		err = c ? 0 : failed();
		*ctx = (uintptr_t)c;
		break;
	}
	lib.free_device_list(list);
	if (!err) {
		struct ibv_context *c = (struct ibv_context *)*ctx;
		fcntl(c->async_fd, F_SETFL, fcntl(c->async_fd, F_GETFL) | O_NONBLOCK);
	}
	return err;
}

int rm_close(uintptr_t ctx) { return result(lib.close_device((struct ibv_context *)ctx)); }

int rm_async_fd(uintptr_t ctx) { return ((struct ibv_context *)ctx)->async_fd; }

int rm_query_device(uintptr_t ctx, struct rm_caps *caps)
{
	struct ibv_device_attr a;
	memset(&a, 0, sizeof(a));
	int err = result(lib.query_device((struct ibv_context *)ctx, &a));
	if (err)
		return err;
	caps->max_mr_size = a.max_mr_size;
	caps->max_qp_wr = a.max_qp_wr;
	caps->max_sge = a.max_sge;
	caps->max_cqe = a.max_cqe;
	caps->max_rd_atom = a.max_qp_rd_atom;
	caps->max_init_rd_atom = a.max_qp_init_rd_atom;
	caps->atomics = a.atomic_cap != IBV_ATOMIC_NONE;
	caps->ports = a.phys_port_cnt;
	caps->vendor = a.vendor_id;
	snprintf(caps->firmware, sizeof(caps->firmware), "%s", a.fw_ver);
	return 0;
}

int rm_query_port(uintptr_t ctx, int port, struct rm_port *p)
{
	struct ibv_context *c = (struct ibv_context *)ctx;
	struct ibv_port_attr a;
	memset(&a, 0, sizeof(a));
	struct verbs_context *v = verbs_get_ctx_op(c, query_port);
	int err;
	if (v)
		err = v->query_port(c, port, &a, sizeof(a));
	else
		err = lib.query_port(c, port, (struct _compat_ibv_port_attr *)&a);
	if ((err = result(err)))
		return err;
	p->state = a.state;
	p->mtu = 128u << a.active_mtu;
	p->max_msg = a.max_msg_sz;
	p->lid = a.lid;
	p->link_layer = a.link_layer;
	p->pkeys = a.pkey_tbl_len;
	return 0;
}

int rm_query_pkey(uintptr_t ctx, int port, int index, uint16_t *key)
{
	__be16 k = 0;
	errno = 0;
	int err = result(lib.query_pkey((struct ibv_context *)ctx, port, index, &k));
	*key = be16toh(k);
	return err;
}

int rm_comp_vectors(uintptr_t ctx) { return ((struct ibv_context *)ctx)->num_comp_vectors; }

int rm_query_gids(uintptr_t ctx, int port, struct rm_gid *out, int max)
{
	enum { MOST = 512 };
	if (!lib.query_gid_table)
		return -ENOSYS;
	struct ibv_gid_entry *all = calloc(MOST, sizeof(*all));
	if (!all)
		return -ENOMEM;
	ssize_t n = lib.query_gid_table((struct ibv_context *)ctx, all, MOST, 0, sizeof(*all));
	int found = 0;
	for (ssize_t i = 0; i < n && found < max; i++) {
		if ((int)all[i].port_num != port)
			continue;
		memcpy(out[found].gid, all[i].gid.raw, 16);
		out[found].index = all[i].gid_index;
		out[found].type = all[i].gid_type;
		out[found].ifindex = all[i].ndev_ifindex;
		found++;
	}
	free(all);
	return n < 0 ? (int)n : found;
}

int rm_async_event(uintptr_t ctx, struct rm_event *ev)
{
	struct ibv_async_event e;
	errno = 0;
	if (lib.get_async_event((struct ibv_context *)ctx, &e))
		return failed();
	memset(ev, 0, sizeof(*ev));
	ev->type = e.event_type;
	switch (e.event_type) {
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_PATH_MIG_ERR:
		ev->qp_num = e.element.qp->qp_num;
		break;
	case IBV_EVENT_CQ_ERR:
		ev->cq = (uintptr_t)e.element.cq;
		break;
	case IBV_EVENT_PORT_ERR:
	case IBV_EVENT_PORT_ACTIVE:
	case IBV_EVENT_GID_CHANGE:
	case IBV_EVENT_LID_CHANGE:
	case IBV_EVENT_PKEY_CHANGE:
	case IBV_EVENT_SM_CHANGE:
	case IBV_EVENT_CLIENT_REREGISTER:
		ev->port = e.element.port_num;
		break;
	default:
		break;
	}
	lib.ack_async_event(&e);
	return 0;
}

const char *rm_event_name(uint32_t type) { return lib.event_type_str(type); }


int rm_alloc_pd(uintptr_t ctx, uintptr_t *pd)
{
	errno = 0;
	*pd = (uintptr_t)lib.alloc_pd((struct ibv_context *)ctx);
	return *pd ? 0 : failed();
}

int rm_dealloc_pd(uintptr_t pd) { return result(lib.dealloc_pd((struct ibv_pd *)pd)); }

int rm_reg_mr(uintptr_t pd, uintptr_t addr, uint64_t len, int access, struct rm_mr *out)
{
	errno = 0;
	struct ibv_mr *mr = lib.reg_mr((struct ibv_pd *)pd, (void *)addr, len, access);
	if (!mr)
		return failed();
	out->mr = (uintptr_t)mr;
	out->lkey = mr->lkey;
	out->rkey = mr->rkey;
	return 0;
}

int rm_dereg_mr(uintptr_t mr) { return result(lib.dereg_mr((struct ibv_mr *)mr)); }

int rm_create_cq(uintptr_t ctx, int depth, int vector, struct rm_cq *out)
{
	struct ibv_context *c = (struct ibv_context *)ctx;
	errno = 0;
	struct ibv_comp_channel *ch = lib.create_comp_channel(c);
	if (!ch)
		return failed();
	struct ibv_cq *cq = NULL;
	int flags = fcntl(ch->fd, F_GETFL);
	if (flags >= 0 && !fcntl(ch->fd, F_SETFL, flags | O_NONBLOCK))
		cq = lib.create_cq(c, depth, NULL, ch, vector);
	if (!cq) {
		int err = failed();
		lib.destroy_comp_channel(ch);
		return err;
	}
	out->cq = (uintptr_t)cq;
	out->channel = (uintptr_t)ch;
	out->fd = ch->fd;
	out->depth = cq->cqe;
	return 0;
}

int rm_destroy_cq(uintptr_t cq, uintptr_t channel)
{
	rm_drain_events(cq, channel);
	int err = result(lib.destroy_cq((struct ibv_cq *)cq));
	if (err)
		return err;
	return result(lib.destroy_comp_channel((struct ibv_comp_channel *)channel));
}

int rm_arm_cq(uintptr_t cq, int solicited_only)
{
	return result(ibv_req_notify_cq((struct ibv_cq *)cq, solicited_only));
}

int rm_drain_events(uintptr_t cq, uintptr_t channel)
{
	struct ibv_cq *from;
	void *context;
	int n = 0;
	while (!lib.get_cq_event((struct ibv_comp_channel *)channel, &from, &context))
		n++;
	if (n)
		lib.ack_cq_events((struct ibv_cq *)cq, n);
	return n;
}

int rm_create_qp(const struct rm_qp_init *init, struct rm_qp *out)
{
	struct ibv_qp_init_attr a = {
		.send_cq = (struct ibv_cq *)init->send_cq,
		.recv_cq = (struct ibv_cq *)init->recv_cq,
		.qp_type = init->type,
		.cap = {
			.max_send_wr = init->send_wr,
			.max_recv_wr = init->recv_wr,
			.max_send_sge = init->send_sge,
			.max_recv_sge = init->recv_sge,
			.max_inline_data = init->inline_data,
		},
	};
	errno = 0;
	struct ibv_qp *qp = lib.create_qp((struct ibv_pd *)init->pd, &a);
	if (!qp)
		return failed();
	out->qp = (uintptr_t)qp;
	out->num = qp->qp_num;
	out->inline_data = a.cap.max_inline_data;
	return 0;
}

int rm_destroy_qp(uintptr_t qp) { return result(lib.destroy_qp((struct ibv_qp *)qp)); }

static int modify(uintptr_t qp, struct ibv_qp_attr *a, int mask)
{
	return result(lib.modify_qp((struct ibv_qp *)qp, a, mask | IBV_QP_STATE));
}

static void fill_ah(struct ibv_ah_attr *a, const struct rm_path *p)
{
	memset(a, 0, sizeof(*a));
	a->dlid = p->lid;
	a->sl = p->sl;
	a->port_num = p->port;
	if (!p->global)
		return;
	a->is_global = 1;
	memcpy(a->grh.dgid.raw, p->gid, 16);
	a->grh.sgid_index = p->sgid_index;
	a->grh.hop_limit = 64;
	a->grh.traffic_class = p->tclass;
}

int rm_qp_init_state(uintptr_t qp, int type, int port, int pkey_index, int access, uint32_t qkey)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT, .port_num = port, .pkey_index = pkey_index};
	int mask = IBV_QP_PKEY_INDEX | IBV_QP_PORT;
	if (type == IBV_QPT_UD) {
		a.qkey = qkey;
		mask |= IBV_QP_QKEY;
	} else {
		a.qp_access_flags = access;
		mask |= IBV_QP_ACCESS_FLAGS;
	}
	return modify(qp, &a, mask);
}

static enum ibv_mtu mtu_code(uint32_t mtu)
{
	enum ibv_mtu m = IBV_MTU_256;
	while (m < IBV_MTU_4096 && (256u << m) <= mtu)
		m++;
	return m;
}

int rm_qp_rtr(uintptr_t qp, int type, const struct rm_path *p, int dest_reads, int min_rnr_timer)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_RTR};
	int mask = 0;
	if (type != IBV_QPT_UD) {
		fill_ah(&a.ah_attr, p);
		a.path_mtu = mtu_code(p->mtu);
		a.dest_qp_num = p->qpn;
		a.rq_psn = p->psn;
		mask = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	}
	if (type == IBV_QPT_RC) {
		a.max_dest_rd_atomic = dest_reads;
		a.min_rnr_timer = min_rnr_timer;
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	}
	return modify(qp, &a, mask);
}

int rm_qp_rts(uintptr_t qp, int type, uint32_t psn, int reads, int timeout, int retry, int rnr_retry)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_RTS, .sq_psn = psn};
	int mask = IBV_QP_SQ_PSN;
	if (type == IBV_QPT_RC) {
		a.max_rd_atomic = reads;
		a.timeout = timeout;
		a.retry_cnt = retry;
		a.rnr_retry = rnr_retry;
		mask |= IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY;
	}
	return modify(qp, &a, mask);
}

int rm_qp_state(uintptr_t qp, int state)
{
	struct ibv_qp_attr a = {.qp_state = state};
	return modify(qp, &a, 0);
}

int rm_query_qp(uintptr_t qp, int mask, struct rm_qp_attr *out)
{
	struct ibv_qp_attr a;
	struct ibv_qp_init_attr init;
	memset(&a, 0, sizeof(a));
	memset(&init, 0, sizeof(init));
	int err = result(lib.query_qp((struct ibv_qp *)qp, &a, mask, &init));
	if (err)
		return err;
	*out = (struct rm_qp_attr){
		.state = a.qp_state, .pkey_index = a.pkey_index, .sl = a.ah_attr.sl, .tclass = a.ah_attr.grh.traffic_class,
		.timeout = a.timeout, .retries = a.retry_cnt, .rnr_retries = a.rnr_retry, .min_rnr_timer = a.min_rnr_timer,
		.send_sge = init.cap.max_send_sge, .recv_sge = init.cap.max_recv_sge,
		.inline_data = init.cap.max_inline_data, .send_wr = init.cap.max_send_wr,
	};
	return 0;
}

int rm_create_ah(uintptr_t pd, const struct rm_path *path, uintptr_t *ah)
{
	struct ibv_ah_attr a;
	fill_ah(&a, path);
	errno = 0;
	*ah = (uintptr_t)lib.create_ah((struct ibv_pd *)pd, &a);
	return *ah ? 0 : failed();
}

int rm_destroy_ah(uintptr_t ah) { return result(lib.destroy_ah((struct ibv_ah *)ah)); }

int64_t rm_post_send(uintptr_t qp, uintptr_t first, int32_t n)
{
	struct ibv_send_wr *wr = (struct ibv_send_wr *)first, *last = wr + n - 1, *bad = NULL;
	struct ibv_send_wr *next = last->next;
	last->next = NULL;
	int err = ibv_post_send((struct ibv_qp *)qp, wr, &bad);
	last->next = next;
	if (!err)
		return n;
	return (int64_t)result(err) << 32 | (bad ? bad - wr : 0);
}

int64_t rm_post_recv(uintptr_t qp, uintptr_t first, int32_t n)
{
	struct ibv_recv_wr *wr = (struct ibv_recv_wr *)first, *last = wr + n - 1, *bad = NULL;
	struct ibv_recv_wr *next = last->next;
	last->next = NULL;
	int err = ibv_post_recv((struct ibv_qp *)qp, wr, &bad);
	last->next = next;
	if (!err)
		return n;
	return (int64_t)result(err) << 32 | (bad ? bad - wr : 0);
}

int32_t rm_poll_cq(uintptr_t cq, int32_t n, uintptr_t wc)
{
	return ibv_poll_cq((struct ibv_cq *)cq, n, (struct ibv_wc *)wc);
}

void rm_post_and_poll(uintptr_t call)
{
	struct rm_post_call *c = (struct rm_post_call *)call;
	int64_t sent = rm_post_send(c->qp, c->first, c->n);
	int32_t got = rm_poll_cq(c->cq, c->room, c->wc);
	c->err = (int32_t)(sent >> 32);
	c->posted = (int32_t)sent;
	c->got = got > 0 ? got : 0;
}
