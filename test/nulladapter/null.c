//go:build rdma

#include "null.h"

#include <stddef.h>
#include <stdlib.h>

struct null_adapter {
	struct ibv_context ctx;
	struct ibv_qp qp;
	struct ibv_cq cq;
	uint64_t wr_id;
	int left;
	int echo; // completes what is posted
};

static struct null_adapter *of_cq(struct ibv_cq *cq)
{
	return (struct null_adapter *)((char *)cq - offsetof(struct null_adapter, cq));
}

static struct null_adapter *of_qp(struct ibv_qp *qp)
{
	return (struct null_adapter *)((char *)qp - offsetof(struct null_adapter, qp));
}

static int null_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct null_adapter *a = of_qp(qp);
	(void)bad;
	volatile uint64_t seen = 0;
	for (; wr; wr = wr->next) {
		seen += wr->wr_id;
		a->left += a->echo;
	}
	return 0;
}

static int null_poll(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	struct null_adapter *a = of_cq(cq);
	if (n > a->left)
		n = a->left;
	a->left -= n;
	for (int i = 0; i < n; i++) {
		wc[i].wr_id = a->wr_id + i;
		wc[i].status = IBV_WC_SUCCESS;
		wc[i].opcode = IBV_WC_RDMA_WRITE;
	}
	a->wr_id += n;
	return n;
}

struct null_queues null_open(void)
{
	struct null_queues out = {0, 0};
	struct null_adapter *a = calloc(1, sizeof(*a));
	if (!a)
		return out;
	a->ctx.ops.post_send = null_post_send;
	a->ctx.ops.poll_cq = null_poll;
	a->qp.context = a->cq.context = &a->ctx;
	out.qp = (uintptr_t)&a->qp;
	out.cq = (uintptr_t)&a->cq;
	return out;
}

void null_close(uintptr_t cq) { free(of_cq((struct ibv_cq *)cq)); }

void null_complete(uintptr_t cq, uint64_t wr_id, int32_t n)
{
	struct null_adapter *a = of_cq((struct ibv_cq *)cq);
	a->wr_id = wr_id;
	a->echo = n < 0;
	a->left = n < 0 ? 0 : n;
}

void null_nothing(uintptr_t a, uintptr_t b, int32_t n)
{
	(void)a;
	(void)b;
	(void)n;
}

void null_repeat_post(uintptr_t qp, uintptr_t first, int32_t n, int32_t times)
{
	struct ibv_send_wr *wr = (struct ibv_send_wr *)first, *last = wr + n - 1, *bad = NULL;
	struct ibv_send_wr *next = last->next;
	last->next = NULL;
	while (times-- > 0)
		ibv_post_send((struct ibv_qp *)qp, wr, &bad);
	last->next = next;
}

int32_t null_repeat_poll(uintptr_t cq, int32_t n, uintptr_t wc, int32_t times)
{
	int32_t got = 0;
	while (times-- > 0)
		got += ibv_poll_cq((struct ibv_cq *)cq, n, (struct ibv_wc *)wc);
	return got;
}
