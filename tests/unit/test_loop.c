/* SPDX-License-Identifier: MIT */
#include "base/loop.h"

#include "unit.h"

struct note {
	struct source source;
	struct timer timer;
	char *said;
	char letter;
};

static void on_ready(struct source *source, uint32_t events)
{
	struct note *n = container_of(source, struct note, source);
	char byte;

	assert_true(events & EPOLLIN);
	assert_int_equal(read(source->fd, &byte, 1), 1);
	(void)strncat(n->said, &n->letter, 1);
}

static void on_time(struct timer *timer)
{
	struct note *n = container_of(timer, struct note, timer);

	(void)strncat(n->said, &n->letter, 1);
}

static void timers_fire_in_order_and_once(void **state)
{
	char said[16] = "";
	struct note a = { .timer.fire = on_time, .said = said, .letter = 'a' }, b = a, c = a;
	struct loop l;
	struct err e = { 0 };
	uint64_t now = loop_now();

	(void)state;
	b.letter = 'b';
	c.letter = 'c';
	assert_ok(loop_init(&l, &e));
	loop_arm(&l, &a.timer, now + 20);
	loop_arm(&l, &b.timer, now + 10);
	loop_arm(&l, &c.timer, now + 5);
	loop_disarm(&l, &c.timer);
	loop_arm(&l, &b.timer, now + 15); /* moved */
	while (strlen(said) < 2)
		assert_ok(loop_turn(&l, &e));
	assert_string_equal(said, "ba");
	assert_null(l.timers);
	assert_false(a.timer.armed);
	(void)close(l.epoll);
}

static void an_event_is_told_to_its_source_until_it_is_removed(void **state)
{
	char said[16] = "";
	struct note a = { .source = { .events = EPOLLIN, .ready = on_ready },
			  .timer.fire = on_time,
			  .said = said,
			  .letter = 'a' };
	struct loop l;
	struct err e = { 0 };
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	a.source.fd = ends[0];
	assert_ok(loop_init(&l, &e));
	assert_ok(loop_add(&l, &a.source, &e));
	assert_int_equal(write(ends[1], "xyz", 3), 3);
	assert_ok(loop_turn(&l, &e));
	assert_string_equal(said, "a");
	loop_want(&l, &a.source, 0);
	a.letter = 't';
	loop_arm(&l, &a.timer, 0);
	assert_ok(loop_turn(&l, &e));
	assert_string_equal(said, "at"); /* the timer alone */
	loop_want(&l, &a.source, EPOLLIN);
	a.letter = 'b';
	assert_ok(loop_turn(&l, &e));
	assert_string_equal(said, "atb");
	loop_remove(&l, &a.source);
	loop_arm(&l, &a.timer, 0);
	a.letter = 'u';
	assert_ok(loop_turn(&l, &e));
	assert_string_equal(said, "atbu");
	(void)close(ends[0]);
	(void)close(ends[1]);
	(void)close(l.epoll);
}

/* What was to come in an hour still is, however long it stood; what was due comes when it goes on. */
static void no_time_passes_while_it_stands(void **state)
{
	char said[8] = "";
	struct note soon = { .timer.fire = on_time, .said = said, .letter = 's' };
	struct note late = { .timer.fire = on_time, .said = said, .letter = 'l' };
	struct loop l;
	struct err e = { 0 };
	uint64_t then, wait;
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	soon.source = (struct source) { .fd = ends[0], .events = EPOLLIN, .ready = on_ready };
	assert_ok(loop_init(&l, &e));
	assert_ok(loop_add(&l, &soon.source, &e));
	loop_arm(&l, &soon.timer, loop_time(&l));
	loop_arm(&l, &late.timer, loop_time(&l) + 3600000);
	loop_stand(&l);
	loop_stand(&l);
	then = loop_time(&l);
	for (wait = loop_now() + 20; loop_now() < wait;)
		;
	assert_true(loop_time(&l) == then);
	soon.letter = 'e';
	assert_int_equal(write(ends[1], "x", 1), 1);
	assert_ok(loop_turn(&l, &e));
	assert_string_equal(said, "e"); /* the event alone */
	loop_want(&l, &soon.source, 0);
	soon.letter = 's';
	loop_go(&l);
	loop_go(&l);
	assert_true(loop_time(&l) >= then && loop_now() - loop_time(&l) >= 20);
	assert_ok(loop_turn(&l, &e));
	assert_string_equal(said, "es");
	assert_true(late.timer.armed);
	(void)close(ends[0]);
	(void)close(ends[1]);
	(void)close(l.epoll);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(timers_fire_in_order_and_once),
		cmocka_unit_test(no_time_passes_while_it_stands),
		cmocka_unit_test(an_event_is_told_to_its_source_until_it_is_removed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
