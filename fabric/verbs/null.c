//go:build rdma

#include "shim.h"

#include <errno.h>
#include <stdlib.h>

struct null_adapter {
	struct ibv_context ctx;
	struct ibv_qp qp;
	struct ibv_cq cq;
	uint64_t wr_id;
	int left;
};

static struct null_adapter *of_cq(struct ibv_cq *cq)
{
	return (struct null_adapter *)((char *)cq - offsetof(struct null_adapter, cq));
}

static int null_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	(void)qp;
	(void)bad;
	volatile uint64_t seen = 0;
	for (; wr; wr = wr->next)
		seen += wr->wr_id;
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

int rm_null_open(struct rm_null *out)
{
	struct null_adapter *a = calloc(1, sizeof(*a));
	if (!a)
		return ENOMEM;
	a->ctx.ops.post_send = null_post_send;
	a->ctx.ops.poll_cq = null_poll;
	a->qp.context = a->cq.context = &a->ctx;
	out->qp = (uintptr_t)&a->qp;
	out->cq = (uintptr_t)&a->cq;
	return 0;
}

void rm_null_close(const struct rm_null *n) { free(of_cq((struct ibv_cq *)n->cq)); }

void rm_null_complete(const struct rm_null *null, uint64_t wr_id, int32_t n)
{
	struct null_adapter *a = of_cq((struct ibv_cq *)null->cq);
	a->wr_id = wr_id;
	a->left = n;
}
