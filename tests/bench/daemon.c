/* SPDX-License-Identifier: MIT */
/* daemon.c - clients of the daemon that take times.
 *
 *	daemon churn N CLIENTS URL KEY		N sessions: started, one command in each, stopped
 *	daemon fill N CLIENTS URL KEY		N sessions, which stay
 *	daemon ask N SESSIONS CLIENTS URL KEY	N commands, each in one of those of `fill`
 *
 * Printed a line: how many a second, and the times of a start (churn, fill) or a command (ask). */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "tests/bench/wire.h"

#define CLIENTS_MAX 256

static const char *url, *key;
static unsigned long total, sessions;
static atomic_ulong next;
static double *times;
static enum { CHURN, FILL, ASK } what;

/* Send a request and take its answer in; `room` holds PIECE bytes. */
static void ask(int fd, char *room, const char *method, const char *path, const char *body)
{
	char head[HEAD_MAX];
	int n = snprintf(head, sizeof(head),
			 "%s %s HTTP/1.1\r\nHost: localhost\r\nX-API-Key: %s\r\n"
			 "Content-Length: %zu\r\n\r\n%s",
			 method, path, key, strlen(body), body);

	put(fd, head, (size_t)n);
	(void)take_reply(fd, room);
}

static void start(int fd, char *room, unsigned long i)
{
	char body[100];

	(void)snprintf(body, sizeof(body), "{\"image\":\"bench\",\"session_id\":\"bench-%lu\"}", i);
	ask(fd, room, "POST", "/v1/sessions", body);
}

static void run(int fd, char *room, unsigned long i)
{
	char path[100];

	(void)snprintf(path, sizeof(path), "/v1/sessions/bench-%lu/exec", i);
	ask(fd, room, "POST", path, "{\"command\":\"true\"}");
}

static void stop(int fd, char *room, unsigned long i)
{
	char path[100];

	(void)snprintf(path, sizeof(path), "/v1/sessions/bench-%lu", i);
	ask(fd, room, "DELETE", path, "");
}

static void one(int fd, char *room, unsigned long i)
{
	double began = now_ms();

	if (what == ASK)
		run(fd, room, i * 7919 % sessions);
	else
		start(fd, room, i);
	times[i] = now_ms() - began;
	if (what != CHURN)
		return;
	run(fd, room, i);
	stop(fd, room, i);
}

static void *client(void *arg)
{
	char *room = malloc(PIECE);
	int fd = connect_to(url);
	unsigned long i;

	if (!room)
		fail("memory");
	while ((i = atomic_fetch_add(&next, 1)) < total)
		one(fd, room, i);
	free(room);
	(void)close(fd);
	return arg;
}

static unsigned long number(const char *text, unsigned long max)
{
	unsigned long n = strtoul(text, NULL, 10);

	if (!n || n > max) {
		fprintf(stderr, "daemon: '%s' is not from 1 to %lu\n", text, max);
		exit(2);
	}
	return n;
}

int main(int argc, char **argv)
{
	pthread_t threads[CLIENTS_MAX];
	unsigned long clients;
	double began;

	if (argc < 6)
		return 2;
	what = strcmp(argv[1], "churn") == 0 ? CHURN : strcmp(argv[1], "fill") == 0 ? FILL : ASK;
	if (argc != (what == ASK ? 7 : 6))
		return 2;
	total = number(argv[2], 1000000);
	sessions = what == ASK ? number(argv[3], 1000000) : total;
	clients = number(argv[argc - 3], CLIENTS_MAX);
	url = argv[argc - 2];
	key = argv[argc - 1];
	times = calloc(total, sizeof(*times));
	if (!times)
		fail("memory");
	began = now_ms();
	for (unsigned long i = 0; i < clients; i++)
		if (pthread_create(&threads[i], NULL, client, NULL) != 0)
			fail("thread");
	for (unsigned long i = 0; i < clients; i++)
		(void)pthread_join(threads[i], NULL);
	printf("%8.0f a second  ", (double)total * 1e3 / (now_ms() - began));
	print_times(times, total);
	return 0;
}
