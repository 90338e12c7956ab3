/* SPDX-License-Identifier: MIT */
/* client.c - a client of the action server that takes times, and a stand-in for a server that polls.
 *
 *	client latency N IDLE_MS URL KEY BODY	N actions, one after the other
 *	client requests N IDLE_MS URL FILE	the whole request in FILE, N times
 *	client rate SECONDS CLIENTS URL KEY BODY	as many as go, from so many connections
 *	client upload MIB URL KEY DIR		one file of zeros
 *	client download MIB URL KEY PATH	what is there, and at least so much
 *	client polled N				`echo hi` in a terminal looked at every 0.5 s
 *
 * Printed a line: median, 99th percentile and minimum in milliseconds, or a rate. A reply other
 * than 200 ends the whole. */
#include <poll.h>
#include <pthread.h>
#include <pty.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/bench/wire.h"

#define MIB (1024UL * 1024)
#define RUNS_MAX 1000000
#define POLL_MS 500 /* what the reference waits between two looks */

static const char *url, *key;

static char *room_for_replies(void)
{
	char *room = malloc(PIECE);

	if (!room)
		fail("memory");
	return room;
}

static size_t request_of(char *out, size_t size, const char *body)
{
	return (size_t)snprintf(
		out, size,
		"POST /execute_action HTTP/1.1\r\nHost: localhost\r\nX-Session-API-Key: %s\r\n"
		"Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
		key, strlen(body), body);
}

static void idle(unsigned ms)
{
	struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000 };

	(void)nanosleep(&t, NULL);
}

static void requests(size_t n, unsigned idle_ms, const char *request, size_t len)
{
	static double ms[RUNS_MAX];
	char *room = room_for_replies();
	int fd = connect_to(url);

	n = n < RUNS_MAX ? n : RUNS_MAX;
	for (size_t i = 0; i < n; i++) {
		double start;

		idle(idle_ms);
		start = now_ms();
		put(fd, request, len);
		(void)take_reply(fd, room);
		ms[i] = now_ms() - start;
	}
	print_times(ms, n);
}

static void latency(size_t n, unsigned idle_ms, const char *body)
{
	static char request[HEAD_MAX];

	requests(n, idle_ms, request, request_of(request, sizeof(request), body));
}

/* For servers that speak another way. */
static void requests_of(size_t n, unsigned idle_ms, const char *path)
{
	static char request[HEAD_MAX];
	FILE *f = fopen(path, "re");
	size_t len = f ? fread(request, 1, sizeof(request), f) : 0;

	if (!len)
		fail(path);
	fclose(f);
	requests(n, idle_ms, request, len);
}

static atomic_ulong done;
static atomic_bool over;
static const char *rate_body;

static void *one_of_many(void *unused)
{
	char request[HEAD_MAX];
	size_t len = request_of(request, sizeof(request), rate_body);
	char *room = room_for_replies();
	int fd = connect_to(url);

	for (; !over; done++) {
		put(fd, request, len);
		(void)take_reply(fd, room);
	}
	free(room);
	close(fd);
	return unused;
}

static void rate(unsigned seconds, unsigned clients, const char *body)
{
	pthread_t *threads = calloc(clients, sizeof(*threads));
	double start = now_ms();

	rate_body = body;
	for (unsigned i = 0; threads && i < clients; i++)
		if (pthread_create(&threads[i], NULL, one_of_many, NULL))
			fail("thread");
	idle(seconds * 1000);
	over = true;
	for (unsigned i = 0; threads && i < clients; i++)
		(void)pthread_join(threads[i], NULL);
	printf("%.0f a second (%lu in %u s, %u clients)\n", (double)done * 1e3 / (now_ms() - start),
	       done, seconds, clients);
}

static void print_speed(size_t bytes, double ms)
{
	printf("%.2f GB/s (%zu MiB in %.0f ms)\n", (double)bytes / 1e6 / ms, bytes / MIB, ms);
}

static void upload(size_t mib, const char *dir)
{
	static const char first[] =
		"--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"zeros\"\r\n\r\n";
	static const char last[] = "\r\n--b--\r\n";
	char *room = room_for_replies(), head[HEAD_MAX];
	int fd = connect_to(url);
	double start = now_ms();

	(void)snprintf(
		head, sizeof(head),
		"POST /upload_file?destination=%s&recursive=false HTTP/1.1\r\nHost: localhost\r\n"
		"X-Session-API-Key: %s\r\nContent-Type: multipart/form-data; boundary=b\r\n"
		"Content-Length: %zu\r\n\r\n%s",
		dir, key, sizeof(first) - 1 + mib * MIB + sizeof(last) - 1, first);
	put(fd, head, strlen(head));
	memset(room, 0, PIECE);
	for (size_t i = 0; i < mib * MIB / PIECE; i++)
		put(fd, room, PIECE);
	put(fd, last, sizeof(last) - 1);
	(void)take_reply(fd, room);
	print_speed(mib * MIB, now_ms() - start);
}

static void download(size_t mib, const char *path)
{
	char *room = room_for_replies(), head[HEAD_MAX];
	int fd = connect_to(url);
	double start = now_ms();
	size_t got;

	(void)snprintf(
		head, sizeof(head),
		"GET /download_files?path=%s HTTP/1.1\r\nHost: localhost\r\nX-Session-API-Key: %s\r\n\r\n",
		path, key);
	put(fd, head, strlen(head));
	got = take_reply(fd, room);
	if (got < mib * MIB) {
		fprintf(stderr, "client: only %zu bytes came\n", got);
		exit(1);
	}
	print_speed(got, now_ms() - start);
}

/* Send a command to a shell in a terminal, then look every half second whether its prompt is back:
 * the way of an executor that has no word from the shell itself. */
static void polled(size_t n)
{
	static const char command[] = "echo hi\n", prompt[] = "@DONE@";
	static double ms[RUNS_MAX];
	char seen[HEAD_MAX];
	int fd = -1;

	if (forkpty(&fd, NULL, NULL, NULL) == 0) {
		(void)setenv("PS1", prompt, 1);
		(void)execlp("bash", "bash", "--norc", "--noprofile", (char *)NULL);
		_exit(127);
	}
	idle(POLL_MS);
	(void)!read(fd, seen, sizeof(seen));
	n = n < RUNS_MAX ? n : RUNS_MAX;
	for (size_t i = 0; i < n; i++) {
		double start = now_ms();
		ssize_t len = 0;

		(void)!write(fd, command, sizeof(command) - 1);
		do {
			idle(POLL_MS);
			len = read(fd, seen, sizeof(seen) - 1);
			seen[len > 0 ? len : 0] = 0;
		} while (len > 0 && !strstr(seen, prompt));
		ms[i] = now_ms() - start;
	}
	close(fd);
	print_times(ms, n);
}

int main(int argc, char **argv)
{
	bool timed = argc == 7;
	const char *mode = argc > 2 ? argv[1] : "";
	bool has_counts = timed || !strcmp(mode, "requests");

	url = has_counts && argc > 4 ? argv[4] : (argc > 3) ? argv[3] : "";
	key = timed ? argv[5] : (argc > 4) ? argv[4] : "";
	if (!strcmp(mode, "latency") && timed)
		latency(strtoul(argv[2], NULL, 10), (unsigned)strtoul(argv[3], NULL, 10), argv[6]);
	else if (!strcmp(mode, "requests") && argc == 6)
		requests_of(strtoul(argv[2], NULL, 10), (unsigned)strtoul(argv[3], NULL, 10),
			    argv[5]);
	else if (!strcmp(mode, "rate") && timed)
		rate((unsigned)strtoul(argv[2], NULL, 10), (unsigned)strtoul(argv[3], NULL, 10),
		     argv[6]);
	else if (!strcmp(mode, "upload") && argc == 6)
		upload(strtoul(argv[2], NULL, 10), argv[5]);
	else if (!strcmp(mode, "download") && argc == 6)
		download(strtoul(argv[2], NULL, 10), argv[5]);
	else if (!strcmp(mode, "polled") && argc == 3)
		polled(strtoul(argv[2], NULL, 10));
	else
		return fputs("client: see the head of client.c\n", stderr), 2;
	return 0;
}
