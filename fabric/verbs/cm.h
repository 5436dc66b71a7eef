// The connection manager, librdmacm, opened at run time like libibverbs. Queue
// pairs are made and moved by package verbs itself; the manager finds the path
// and exchanges what both ends must know.
#ifndef REMORA_VERBS_CM_H
#define REMORA_VERBS_CM_H

#include <stdint.h>

// rm_cm_load opens the library. It returns 0, or -1 with the reason in why.
int rm_cm_load(char *why, int size);

// Functions that return int return 0 or an errno.

int rm_cm_open(uintptr_t *channel, int32_t *fd);
void rm_cm_close(uintptr_t channel);

// An address is 16 bytes, IPv4 mapped, and a port in host order.
struct rm_cm_addr {
	uint8_t ip[16];
	uint16_t port;
};

// rm_cm_listen listens at an address; port 0 becomes the one that was taken.
int rm_cm_listen(uintptr_t channel, struct rm_cm_addr *addr, int backlog, uintptr_t *id);
int rm_cm_create(uintptr_t channel, uintptr_t *id);
int rm_cm_destroy(uintptr_t id);
// rm_cm_set_tos sets the traffic class, before the address is resolved.
int rm_cm_set_tos(uintptr_t id, uint8_t tos);
int rm_cm_resolve_addr(uintptr_t id, const struct rm_cm_addr *from, const struct rm_cm_addr *to, int ms);
int rm_cm_resolve_route(uintptr_t id, int ms);
// rm_cm_device returns the name of the device that an identifier is bound to.
const char *rm_cm_device(uintptr_t id, int *port);

struct rm_cm_param {
	uint64_t token;
	uint32_t qp_num;
	uint8_t answers, starts, retries, rnr_retries;
};
int rm_cm_connect(uintptr_t id, const struct rm_cm_param *p);
int rm_cm_accept(uintptr_t id, const struct rm_cm_param *p);
int rm_cm_establish(uintptr_t id);
int rm_cm_reject(uintptr_t id);
int rm_cm_disconnect(uintptr_t id);

// struct rm_cm_qp is what the manager does not know of a queue pair.
struct rm_cm_qp {
	uintptr_t qp;
	int32_t access, reads_answered, reads_started;
	int32_t min_rnr_timer, timeout, retries, rnr_retries;
	int32_t sl, tclass, pkey_index; // -1 is what the manager says
};
// rm_cm_connect_qp makes a queue pair ready for the peer of an identifier.
int rm_cm_connect_qp(uintptr_t id, const struct rm_cm_qp *q);

struct rm_cm_event {
	uintptr_t id, listen;
	uint32_t type;
	int32_t status;
	uint64_t token; // of connection requests; 0 when there is none
};
// rm_cm_event takes the next event; EAGAIN when there is none.
int rm_cm_event(uintptr_t channel, struct rm_cm_event *ev);
const char *rm_cm_event_name(uint32_t type);

#endif
