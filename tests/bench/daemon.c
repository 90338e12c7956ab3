/* SPDX-License-Identifier: MIT */
/* daemon.c - clients of the daemon that take times.
 *
 *	daemon churn N CLIENTS URL KEY		N sessions: started, one command in each, stopped
 *	daemon fill N CLIENTS URL KEY		N sessions, which stay
 *	daemon ask N SESSIONS CLIENTS URL KEY	N actions, each in one of those of `fill`
 *	daemon first N CLIENTS URL KEY		N sessions, PAUSE_MS between: started, the first action at the
 *						session's own address, stopped
 *
 * Printed a line: how many a second, and the times of a start (churn, fill), of an action (ask), or of
 * start and action together (first). */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "tests/bench/wire.h"

#define CLIENTS_MAX 256
#define PAUSE_MS 300 /* in which a pool is filled again */

static const char *url, *key;
static unsigned long total, sessions;
static atomic_ulong next;
static double *times;
static size_t mode;

/* Send a request and take its answer in; `room` holds PIECE bytes. */
static void ask(int fd, char *room, const char *method, const char *path, const char *body)
{
	char head[HEAD_MAX];
	int n = snprintf(head, sizeof(head),
			 "%s %s HTTP/1.1\r\nHost: localhost\r\nX-API-Key: %s\r\n"
			 "Content-Length: %zu\r\n\r\n%s",
			 method, path, key, strlen(body), body);

	memset(room, 0, HEAD_MAX);
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

/* A member of the answer that was taken into `room` whole, as it came in one piece. */
static void member(const char *room, const char *name, char *out, size_t size)
{
	char wanted[64];
	const char *at, *end;

	(void)snprintf(wanted, sizeof(wanted), "\"%s\":\"", name);
	at = strstr(room, wanted);
	at = at ? at + strlen(wanted) : NULL;
	end = at ? strchr(at, '"') : NULL;
	if (!end || (size_t)(end - at) >= size) {
		fprintf(stderr, "bench: no '%s' in %s\n", name, room);
		exit(1);
	}
	memcpy(out, at, (size_t)(end - at));
	out[end - at] = '\0';
}

/* At the session's own address, as its clients do: `room` holds what the daemon said of it. Returns how
 * long it took, connecting included. */
static double act(char *room)
{
	static const char body[] =
		"{\"action\":{\"action\":\"run\",\"args\":{\"command\":\"echo hi\"}}}";
	char place[100], own_key[100], head[HEAD_MAX];
	double began;
	int fd, n;

	member(room, "url", place, sizeof(place));
	member(room, "session_api_key", own_key, sizeof(own_key));
	began = now_ms();
	fd = connect_to(place);
	n = snprintf(head, sizeof(head),
		     "POST /execute_action HTTP/1.1\r\nHost: localhost\r\n"
		     "X-Session-API-Key: %s\r\nContent-Type: application/json\r\n"
		     "Content-Length: %zu\r\n\r\n%s",
		     own_key, strlen(body), body);
	put(fd, head, (size_t)n);
	(void)take_reply(fd, room);
	began = now_ms() - began;
	(void)close(fd);
	return began;
}

static double churn(int fd, char *room, unsigned long i)
{
	double began = now_ms(), took;

	start(fd, room, i);
	took = now_ms() - began;
	run(fd, room, i);
	stop(fd, room, i);
	return took;
}

static double fill(int fd, char *room, unsigned long i)
{
	double began = now_ms();

	start(fd, room, i);
	return now_ms() - began;
}

static double act_in_any(int fd, char *room, unsigned long i)
{
	char path[100];

	(void)snprintf(path, sizeof(path), "/v1/sessions/bench-%lu", i * 7919 % sessions);
	ask(fd, room, "GET", path, "");
	return act(room);
}

static double first(int fd, char *room, unsigned long i)
{
	double began = now_ms(), took;

	start(fd, room, i);
	took = now_ms() - began + act(room);
	stop(fd, room, i);
	(void)usleep(PAUSE_MS * 1000);
	return took;
}

static const struct {
	const char *name;
	double (*one)(int fd, char *room, unsigned long i); /* returns what is to be printed */
	int words;
} modes[] = {
	{ "churn", churn, 6 },
	{ "fill", fill, 6 },
	{ "ask", act_in_any, 7 },
	{ "first", first, 6 },
};

static void *client(void *arg)
{
	char *room = malloc(PIECE);
	int fd = connect_to(url);
	unsigned long i;

	if (!room)
		fail("memory");
	while ((i = atomic_fetch_add(&next, 1)) < total)
		times[i] = modes[mode].one(fd, room, i);
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

	while (argc > 1 && mode < sizeof(modes) / sizeof(*modes) &&
	       strcmp(argv[1], modes[mode].name) != 0)
		mode++;
	if (argc < 2 || mode == sizeof(modes) / sizeof(*modes) || argc != modes[mode].words)
		return 2;
	total = number(argv[2], 1000000);
	sessions = argc == 7 ? number(argv[3], 1000000) : total;
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
