/* SPDX-License-Identifier: MIT */
/* options.c - see options.h. A row an option, as in any other sudo: what needs no password here is
 * taken and means nothing, what this one has no notion of is refused. */
#include "sandbox/sudo/options.h"

#include <getopt.h>
#include <stddef.h>
#include <string.h>

const char options_usage[] =
	"usage: sudo -h | -V\n"
	"       sudo [-nS] -k | -K | -v\n"
	"       sudo -l [-nS] [-u user] [command]\n"
	"       sudo [-bEHknPS] [-D directory] [-u user] [VAR=value] [-i | -s] [command [arg ...]]\n";

enum what { FLAG, TEXT, NOTHING, NOTHING_TEXT, REFUSED, REFUSED_TEXT, KEEP };

struct row {
	int letter;
	const char *name;
	enum what what;
	size_t member; /* of struct options */
};

#define AT(member) offsetof(struct options, member)

static const struct row rows[] = {
	{ 'u', "user", TEXT, AT(user) },
	{ 'D', "chdir", TEXT, AT(dir) },
	{ 'i', "login", FLAG, AT(login) },
	{ 's', "shell", FLAG, AT(shell) },
	{ 'E', "preserve-env", KEEP, AT(keep) },
	{ 'b', "background", FLAG, AT(background) },
	{ 'l', "list", FLAG, AT(list) },
	{ 'v', "validate", FLAG, AT(validate) },
	{ 'k', "reset-timestamp", FLAG, AT(forget) },
	{ 'K', "remove-timestamp", FLAG, AT(forget) },
	{ 'h', "help", FLAG, AT(help) },
	{ 'V', "version", FLAG, AT(version) },
	{ 'H', "set-home", FLAG, AT(set_home) },
	{ 'A', "askpass", NOTHING, 0 },
	{ 'B', "bell", NOTHING, 0 },
	{ 'n', "non-interactive", NOTHING, 0 },
	{ 'N', "no-update", NOTHING, 0 },
	{ 'P', "preserve-groups", NOTHING, 0 }, /* nobody here has more than his own */
	{ 'S', "stdin", NOTHING, 0 },
	{ 'p', "prompt", NOTHING_TEXT, 0 },
	{ 'C', "close-from", NOTHING_TEXT, 0 }, /* no other descriptors are passed on, ever */
	{ 'e', "edit", REFUSED, 0 },
	{ 'g', "group", REFUSED_TEXT, 0 },
	{ 'r', "role", REFUSED_TEXT, 0 },
	{ 'R', "chroot", REFUSED_TEXT, 0 },
	{ 't', "type", REFUSED_TEXT, 0 },
	{ 'T', "command-timeout", REFUSED_TEXT, 0 },
	{ 'U', "other-user", REFUSED_TEXT, 0 },
};

static int has_argument(const struct row *r)
{
	switch (r->what) {
	case TEXT:
	case NOTHING_TEXT:
	case REFUSED_TEXT:
		return required_argument;
	case KEEP:
		return optional_argument;
	default:
		return no_argument;
	}
}

static const struct row *row_of(int letter)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (rows[i].letter == letter)
			return &rows[i];
	return NULL;
}

/* What getopt_long() wants: it stops at the first word that is no option. */
struct tables {
	char letters[2 + 2 * ARRAY_LEN(rows)];
	struct option names[ARRAY_LEN(rows) + 1];
};

static void make_tables(struct tables *t)
{
	size_t n = 0;

	*t = (struct tables) { .letters = "+:" };
	n = strlen(t->letters);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int argument = has_argument(&rows[i]);

		t->letters[n++] = (char)rows[i].letter;
		if (argument == required_argument)
			t->letters[n++] = ':';
		t->names[i] = (struct option) { rows[i].name, argument, NULL, rows[i].letter };
	}
}

static int take(struct options *o, const struct row *r, struct err *e)
{
	void *member = (char *)o + r->member;

	switch (r->what) {
	case FLAG:
		*(bool *)member = true;
		return 0;
	case TEXT:
		*(const char **)member = optarg;
		return 0;
	case KEEP:
		if (optarg)
			*(const char **)member = optarg;
		else
			o->keep_all = true;
		return 0;
	case REFUSED:
	case REFUSED_TEXT:
		return err_code(e, EOPNOTSUPP, "option '-%c' (--%s) is not to be had here",
				r->letter, r->name);
	default:
		return 0;
	}
}

static int take_options(int argc, char **argv, struct tables *t, struct options *o, struct err *e)
{
	int letter;

	while ((letter = getopt_long(argc, argv, t->letters, t->names, NULL)) >= 0) {
		const struct row *r = row_of(letter);

		if (letter == ':')
			return err_code(e, EINVAL, "option '%s' requires an argument",
					argv[optind - 1]);
		if (!r && optopt)
			return err_code(e, EINVAL, "invalid option '-%c'", optopt);
		if (!r)
			return err_code(e, EINVAL, "invalid option '%s'", argv[optind - 1]);
		if (take(o, r, e) < 0)
			return -e->code;
	}
	return 0;
}

static bool is_assignment(const char *word)
{
	return word && *word != '/' && *word != '=' && strchr(word, '=');
}

static int check(const struct options *o, struct err *e)
{
	bool runs = o->login || o->shell || *o->command;

	if (o->login && o->shell)
		return err_code(e, EINVAL, "you may not specify both the -i and -s options");
	if (o->login && (o->keep_all || o->keep))
		return err_code(e, EINVAL, "you may not specify both the -i and -E options");
	if (o->validate && (runs || o->list))
		return err_code(e, EINVAL, "-v goes without a command");
	if (!runs && !o->list && !o->validate && !o->forget && !o->help && !o->version)
		return err_code(e, EINVAL, "a command is missing");
	return 0;
}

int options_parse(int argc, char **argv, struct options *o, struct err *e)
{
	struct options made = { .user = NULL };
	struct tables t;
	size_t n = 0;

	made.assignments = calloc((size_t)argc + 1, sizeof(*made.assignments));
	if (!made.assignments)
		return err_code(e, ENOMEM, "no memory");
	make_tables(&t);
	optind = 0; /* begin anew */
	opterr = 0;
	/* Assignments may stand between options, but not behind "--". */
	for (;;) {
		if (take_options(argc, argv, &t, &made, e) < 0) {
			options_clear(&made);
			return -e->code;
		}
		if (strcmp(argv[optind - 1], "--") == 0 || !is_assignment(argv[optind]))
			break;
		made.assignments[n++] = argv[optind++];
	}
	made.command = argv + optind;
	if (check(&made, e) < 0) {
		options_clear(&made);
		return -e->code;
	}
	*o = made;
	return 0;
}

void options_clear(struct options *o)
{
	free(o->assignments);
	*o = (struct options) { .user = NULL };
}
