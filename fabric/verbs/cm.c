//go:build rdma

#include "cm.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <string.h>

static struct {
	struct rdma_event_channel *(*create_event_channel)(void);
	void (*destroy_event_channel)(struct rdma_event_channel *);
	int (*create_id)(struct rdma_event_channel *, struct rdma_cm_id **, void *, enum rdma_port_space);
	int (*destroy_id)(struct rdma_cm_id *);
	int (*bind_addr)(struct rdma_cm_id *, struct sockaddr *);
	int (*listen)(struct rdma_cm_id *, int);
	__be16 (*get_src_port)(struct rdma_cm_id *);
	int (*set_option)(struct rdma_cm_id *, int, int, void *, size_t);
	int (*resolve_addr)(struct rdma_cm_id *, struct sockaddr *, struct sockaddr *, int);
	int (*resolve_route)(struct rdma_cm_id *, int);
	int (*connect)(struct rdma_cm_id *, struct rdma_conn_param *);
	int (*accept)(struct rdma_cm_id *, struct rdma_conn_param *);
	int (*establish)(struct rdma_cm_id *);
	int (*reject)(struct rdma_cm_id *, const void *, uint8_t);
	int (*disconnect)(struct rdma_cm_id *);
	int (*init_qp_attr)(struct rdma_cm_id *, struct ibv_qp_attr *, int *);
	int (*get_cm_event)(struct rdma_event_channel *, struct rdma_cm_event **);
	int (*ack_cm_event)(struct rdma_cm_event *);
	const char *(*event_str)(enum rdma_cm_event_type);
	// Of libibverbs, which librdmacm brings along.
	int (*modify_qp)(struct ibv_qp *, struct ibv_qp_attr *, int);
	const char *(*device_name)(struct ibv_device *);
} cm;

static const struct {
	const char *name;
	void **where;
} symbols[] = {
	{"rdma_create_event_channel", (void **)&cm.create_event_channel},
	{"rdma_destroy_event_channel", (void **)&cm.destroy_event_channel},
	{"rdma_create_id", (void **)&cm.create_id},
	{"rdma_destroy_id", (void **)&cm.destroy_id},
	{"rdma_bind_addr", (void **)&cm.bind_addr},
	{"rdma_listen", (void **)&cm.listen},
	{"rdma_get_src_port", (void **)&cm.get_src_port},
	{"rdma_set_option", (void **)&cm.set_option},
	{"rdma_resolve_addr", (void **)&cm.resolve_addr},
	{"rdma_resolve_route", (void **)&cm.resolve_route},
	{"rdma_connect", (void **)&cm.connect},
	{"rdma_accept", (void **)&cm.accept},
	{"rdma_establish", (void **)&cm.establish},
	{"rdma_reject", (void **)&cm.reject},
	{"rdma_disconnect", (void **)&cm.disconnect},
	{"rdma_init_qp_attr", (void **)&cm.init_qp_attr},
	{"rdma_get_cm_event", (void **)&cm.get_cm_event},
	{"rdma_ack_cm_event", (void **)&cm.ack_cm_event},
	{"rdma_event_str", (void **)&cm.event_str},
	{"ibv_modify_qp", (void **)&cm.modify_qp},
	{"ibv_get_device_name", (void **)&cm.device_name},
};

static pthread_mutex_t load_lock = PTHREAD_MUTEX_INITIALIZER;
static int loaded;

static int load(char *why, int size)
{
	void *so = dlopen("librdmacm.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!so) {
		snprintf(why, size, "%s", dlerror());
		return -1;
	}
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		*symbols[i].where = dlsym(so, symbols[i].name);
		if (!*symbols[i].where) {
			snprintf(why, size, "librdmacm.so.1 has no %s", symbols[i].name);
			dlclose(so);
			return -1;
		}
	}
	return 0;
}

int rm_cm_load(char *why, int size)
{
	pthread_mutex_lock(&load_lock);
	int err = loaded ? 0 : load(why, size);
	if (!err)
		loaded = 1;
	pthread_mutex_unlock(&load_lock);
	return err;
}

static int failed(void) { return errno ? errno : EIO; }

// The functions of librdmacm return -1 and set errno.
static int result(int rc) { return rc ? failed() : 0; }

int rm_cm_open(uintptr_t *channel, int32_t *fd)
{
	errno = 0;
	struct rdma_event_channel *ch = cm.create_event_channel();
	if (!ch)
		return failed();
	if (fcntl(ch->fd, F_SETFL, fcntl(ch->fd, F_GETFL) | O_NONBLOCK)) {
		int err = failed();
		cm.destroy_event_channel(ch);
		return err;
	}
	*channel = (uintptr_t)ch;
	*fd = ch->fd;
	return 0;
}

void rm_cm_close(uintptr_t channel) { cm.destroy_event_channel((struct rdma_event_channel *)channel); }

// fill makes a socket address; IPv4 is not left mapped.
static void fill(struct sockaddr_storage *out, const struct rm_cm_addr *a)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	memset(out, 0, sizeof(*out));
	if (!memcmp(a->ip, mapped, sizeof(mapped))) {
		struct sockaddr_in *in = (struct sockaddr_in *)out;
		in->sin_family = AF_INET;
		in->sin_port = htons(a->port);
		memcpy(&in->sin_addr, a->ip + 12, 4);
		return;
	}
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)out;
	in6->sin6_family = AF_INET6;
	in6->sin6_port = htons(a->port);
	memcpy(&in6->sin6_addr, a->ip, 16);
}

int rm_cm_create(uintptr_t channel, uintptr_t *id)
{
	struct rdma_cm_id *made = NULL;
	errno = 0;
	int err = result(cm.create_id((struct rdma_event_channel *)channel, &made, NULL, RDMA_PS_TCP));
	*id = (uintptr_t)made;
	return err;
}

int rm_cm_destroy(uintptr_t id) { return result(cm.destroy_id((struct rdma_cm_id *)id)); }

int rm_cm_listen(uintptr_t channel, struct rm_cm_addr *addr, int backlog, uintptr_t *id)
{
	int err = rm_cm_create(channel, id);
	if (err)
		return err;
	struct rdma_cm_id *made = (struct rdma_cm_id *)*id;
	struct sockaddr_storage at;
	fill(&at, addr);
	errno = 0;
	if (cm.bind_addr(made, (struct sockaddr *)&at) || cm.listen(made, backlog)) {
		err = failed();
		cm.destroy_id(made);
		return err;
	}
	addr->port = ntohs(cm.get_src_port(made));
	return 0;
}

int rm_cm_set_tos(uintptr_t id, uint8_t tos)
{
	errno = 0;
	return result(cm.set_option((struct rdma_cm_id *)id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, sizeof(tos)));
}

int rm_cm_resolve_addr(uintptr_t id, const struct rm_cm_addr *from, const struct rm_cm_addr *to, int ms)
{
	struct sockaddr_storage src, dst;
	fill(&src, from);
	fill(&dst, to);
	errno = 0;
	return result(cm.resolve_addr((struct rdma_cm_id *)id, (struct sockaddr *)&src, (struct sockaddr *)&dst, ms));
}

int rm_cm_resolve_route(uintptr_t id, int ms)
{
	errno = 0;
	return result(cm.resolve_route((struct rdma_cm_id *)id, ms));
}

const char *rm_cm_device(uintptr_t id, int *port)
{
	struct rdma_cm_id *i = (struct rdma_cm_id *)id;
	*port = i->port_num;
	return i->verbs ? cm.device_name(i->verbs->device) : "";
}

static struct rdma_conn_param param(const struct rm_cm_param *p)
{
	return (struct rdma_conn_param){
		.private_data = &p->token,
		.private_data_len = sizeof(p->token),
		.responder_resources = p->answers,
		.initiator_depth = p->starts,
		.flow_control = 1,
		.retry_count = p->retries,
		.rnr_retry_count = p->rnr_retries,
		.qp_num = p->qp_num,
	};
}

int rm_cm_connect(uintptr_t id, const struct rm_cm_param *p)
{
	struct rdma_conn_param c = param(p);
	errno = 0;
	return result(cm.connect((struct rdma_cm_id *)id, &c));
}

int rm_cm_accept(uintptr_t id, const struct rm_cm_param *p)
{
	struct rdma_conn_param c = param(p);
	errno = 0;
	return result(cm.accept((struct rdma_cm_id *)id, &c));
}

int rm_cm_establish(uintptr_t id)
{
	errno = 0;
	return result(cm.establish((struct rdma_cm_id *)id));
}

int rm_cm_reject(uintptr_t id)
{
	errno = 0;
	return result(cm.reject((struct rdma_cm_id *)id, NULL, 0));
}

int rm_cm_disconnect(uintptr_t id)
{
	errno = 0;
	return result(cm.disconnect((struct rdma_cm_id *)id));
}

// ask has the manager say what a queue pair needs for a state. On InfiniBand
// some kernels set bits that belong to Ethernet.
static int ask(struct rdma_cm_id *id, enum ibv_qp_state state, struct ibv_qp_attr *a, int *mask)
{
	memset(a, 0, sizeof(*a));
	a->qp_state = state;
	errno = 0;
	int err = result(cm.init_qp_attr(id, a, mask));
	if (!a->ah_attr.is_global || a->ah_attr.dlid)
		*mask &= ~0xe00000;
	return err;
}

int rm_cm_connect_qp(uintptr_t id, const struct rm_cm_qp *q)
{
	struct rdma_cm_id *i = (struct rdma_cm_id *)id;
	struct ibv_qp *qp = (struct ibv_qp *)q->qp;
	struct ibv_qp_attr a;
	int mask, err;
	if ((err = ask(i, IBV_QPS_INIT, &a, &mask)))
		return err;
	a.qp_access_flags = q->access;
	if (q->pkey_index >= 0)
		a.pkey_index = q->pkey_index;
	if ((err = cm.modify_qp(qp, &a, mask | IBV_QP_ACCESS_FLAGS)))
		return err < 0 ? failed() : err;
	if ((err = ask(i, IBV_QPS_RTR, &a, &mask)))
		return err;
	a.max_dest_rd_atomic = q->reads_answered;
	a.min_rnr_timer = q->min_rnr_timer;
	if (q->sl >= 0)
		a.ah_attr.sl = q->sl;
	if (q->tclass >= 0 && a.ah_attr.is_global)
		a.ah_attr.grh.traffic_class = q->tclass;
	if ((err = cm.modify_qp(qp, &a, mask | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)))
		return err < 0 ? failed() : err;
	if ((err = ask(i, IBV_QPS_RTS, &a, &mask)))
		return err;
	a.max_rd_atomic = q->reads_started;
	a.timeout = q->timeout;
	a.retry_cnt = q->retries;
	a.rnr_retry = q->rnr_retries;
	mask |= IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY;
	if ((err = cm.modify_qp(qp, &a, mask)))
		return err < 0 ? failed() : err;
	return 0;
}

int rm_cm_event(uintptr_t channel, struct rm_cm_event *ev)
{
	struct rdma_cm_event *e;
	errno = 0;
	if (cm.get_cm_event((struct rdma_event_channel *)channel, &e))
		return failed();
	memset(ev, 0, sizeof(*ev));
	ev->id = (uintptr_t)e->id;
	ev->listen = (uintptr_t)e->listen_id;
	ev->type = e->event;
	ev->status = e->status;
	// The network pads private data with zeros.
	if (e->event == RDMA_CM_EVENT_CONNECT_REQUEST && e->param.conn.private_data_len >= sizeof(ev->token))
		memcpy(&ev->token, e->param.conn.private_data, sizeof(ev->token));
	return result(cm.ack_cm_event(e));
}

const char *rm_cm_event_name(uint32_t type) { return cm.event_str(type); }
