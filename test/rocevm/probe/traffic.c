/*
 * READs over RC between two machines, for tests of faults on the wire. Unlike the
 * tools of others it checks every byte, chooses its timeout and retry count, and
 * says exactly how a failure looked.
 *
 *     traffic server DEVICE GID-INDEX PORT
 *     traffic client DEVICE GID-INDEX PORT SERVER TIMEOUT RETRIES COUNT
 *
 * The server prints "ready" and serves one client until that disconnects or its
 * own end. The client keeps some READs outstanding until COUNT are done and
 * prints "reading" once some are, then one of
 *
 *     done N reads
 *     failed STATUS (TEXT) after N reads, M flushed
 *
 * with exit status 0 or 3. Exit status 1 is any other error.
 */
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include "side.h"

enum {
	CHUNK = 4096,		/* one READ: several packets */
	OUTSTANDING = 4,
	WARM = 50,		/* reads until the client says that it reads */
	SEED = 5,
	EXIT_FAILED_COMPLETION = 3,
};

/* How to reach a side, exchanged in the order of bytes of these equal machines. */
struct address {
	union ibv_gid gid;
	uint32_t qpn, rkey;
	uint64_t addr;
};

static int exchange(int fd, const struct side *s, struct address *peer)
{
	struct address own = { .gid = gid, .qpn = s->qp->qp_num, .rkey = s->mr->rkey, .addr = (uintptr_t)s->buf };
	if (write(fd, &own, sizeof own) != sizeof own)
		return fail_errno("write to the peer");
	if (recv(fd, peer, sizeof *peer, MSG_WAITALL) != sizeof *peer)
		return fail_errno("read from the peer");
	return 0;
}

/* connect_side joins a side to the peer at the other end of a socket. When it
 * returns, the peer is ready and its memory is filled. */
static int connect_side(int fd, struct side *s, struct address *peer, int timeout, int retries)
{
	char byte = 0;
	if (create(s, IBV_QPT_RC, 0) || to_init(s->qp))
		return -1;
	fill(s->buf, BUFFER, SEED);
	if (exchange(fd, s, peer) || to_rtr(s->qp, peer->qpn, peer->gid) || to_rts(s->qp, timeout, retries))
		return -1;
	if (write(fd, &byte, 1) != 1 || recv(fd, &byte, 1, MSG_WAITALL) != 1)
		return fail_errno("wait for the peer");
	return 0;
}

static int serve(int tcp_port)
{
	struct side s;
	struct address peer;
	int on = 1, listener = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in any = { .sin_family = AF_INET, .sin_port = htons((uint16_t)tcp_port) };
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (bind(listener, (struct sockaddr *)&any, sizeof any) || listen(listener, 1))
		return fail_errno("listen");
	printf("ready\n");
	fflush(stdout);
	int fd = accept(listener, NULL, NULL);
	if (fd < 0)
		return fail_errno("accept");
	if (connect_side(fd, &s, &peer, 14, 6))
		return -1;
	/* The client's end is this end; the READs themselves need no help. */
	char byte;
	while (recv(fd, &byte, 1, 0) > 0)
		;
	destroy(&s);
	return 0;
}

static int dial(const char *server, int tcp_port)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)tcp_port) };
	if (inet_pton(AF_INET, server, &to.sin_addr) != 1)
		return fail("%s is not an IPv4 address", server);
	if (connect(fd, (struct sockaddr *)&to, sizeof to))
		return fail_errno("connect");
	return fd;
}

/* post_read asks for the chunk of a slot. The slot's memory is cleared first, so
 * that its bytes prove this READ and no earlier one. */
static int post_read(struct side *s, const struct address *peer, uint64_t slot)
{
	struct ibv_sge sge = { .addr = (uintptr_t)s->buf + slot * CHUNK, .length = CHUNK, .lkey = s->mr->lkey };
	struct ibv_send_wr wr = { .wr_id = slot, .opcode = IBV_WR_RDMA_READ, .send_flags = IBV_SEND_SIGNALED, .sg_list = &sge, .num_sge = 1 }, *bad;
	memset(s->buf + slot * CHUNK, 0, CHUNK);
	wr.wr.rdma.remote_addr = peer->addr + slot * CHUNK;
	wr.wr.rdma.rkey = peer->rkey;
	int err = ibv_post_send(s->qp, &wr, &bad);
	return err ? fail("ibv_post_send: %s", strerror(err)) : 0;
}

/* take_failure reports the first failed completion and counts the flushed ones
 * behind it: every outstanding READ must be accounted for. */
static int take_failure(struct side *s, const struct ibv_wc *first, long done, int outstanding)
{
	int flushed = 0;
	double deadline = now() + 5;
	while (flushed < outstanding - 1 && now() < deadline) {
		struct ibv_wc wc;
		if (ibv_poll_cq(s->cq, 1, &wc) == 1 && wc.status == IBV_WC_WR_FLUSH_ERR)
			flushed++;
	}
	printf("failed %d (%s) after %ld reads, %d flushed\n", first->status, ibv_wc_status_str(first->status), done, flushed);
	if (flushed != outstanding - 1)
		return fail("%d of %d outstanding requests were flushed", flushed, outstanding - 1);
	return EXIT_FAILED_COMPLETION;
}

/* client returns an exit status, or -1. */
static int client(struct side *s, const struct address *peer, long count)
{
	long posted = 0, done = 0;
	while (posted < OUTSTANDING && posted < count)
		if (post_read(s, peer, (uint64_t)posted++))
			return -1;
	while (done < count) {
		struct ibv_wc wc;
		int n = ibv_poll_cq(s->cq, 1, &wc);
		if (n < 0)
			return fail("ibv_poll_cq failed");
		if (n == 0)
			continue;
		if (wc.status != IBV_WC_SUCCESS)
			return take_failure(s, &wc, done, (int)(posted - done));
		const char *p = s->buf + wc.wr_id * CHUNK;
		if (filled(p, CHUNK, (int)(SEED + wc.wr_id * CHUNK * 7)))
			return -1;
		if (++done == WARM) {
			printf("reading\n");
			fflush(stdout);
		}
		if (posted < count) {
			posted++;
			if (post_read(s, peer, wc.wr_id))
				return -1;
		}
	}
	printf("done %ld reads\n", done);
	return 0;
}

static int read_from(char **argv)
{
	struct side s;
	struct address peer;
	int fd = dial(argv[5], atoi(argv[4]));
	if (fd < 0 || connect_side(fd, &s, &peer, atoi(argv[6]), atoi(argv[7])))
		return -1;
	int status = client(&s, &peer, atol(argv[8]));
	destroy(&s);
	return status;
}

int main(int argc, char **argv)
{
	int is_server = argc == 5 && strcmp(argv[1], "server") == 0;
	int is_client = argc == 9 && strcmp(argv[1], "client") == 0;
	if (!is_server && !is_client) {
		fprintf(stderr, "usage: traffic server DEVICE GID-INDEX PORT\n"
				"       traffic client DEVICE GID-INDEX PORT SERVER TIMEOUT RETRIES COUNT\n");
		return 2;
	}
	port_num = 1;
	gid_index = atoi(argv[3]);
	int status = open_device(argv[2]);
	if (!status)
		status = is_server ? serve(atoi(argv[4])) : read_from(argv);
	if (status < 0) {
		fprintf(stderr, "traffic: %s\n", reason);
		return 1;
	}
	return status;
}
