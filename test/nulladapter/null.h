#ifndef REMORA_NULL_H
#define REMORA_NULL_H

#include <infiniband/verbs.h>
#include <stdint.h>

// null_queues are a queue pair and a completion queue; 0 when there is no memory.
struct null_queues {
	uintptr_t qp, cq;
};
struct null_queues null_open(void);
void null_close(uintptr_t cq);
void null_complete(uintptr_t cq, uint64_t wr_id, int32_t n);
void null_nothing(uintptr_t a, uintptr_t b, int32_t n);
void null_repeat_post(uintptr_t qp, uintptr_t first, int32_t n, int32_t times);
int32_t null_repeat_poll(uintptr_t cq, int32_t n, uintptr_t wc, int32_t times);

#endif
