/* SPDX-License-Identifier: MIT */
/* wire_v0_out.c - see wire_v0.h. Observations as V0 has them. */
#include "base/json_out.h"
#include "sandbox/executor/file_text.h"
#include "sandbox/executor/wire_v0.h"

static void put_buf(struct json_out *j, const char *key, const struct buf *b)
{
	jo_string_n(j, key, buf_str(b), b->len);
}

static void put_metadata(struct json_out *j, const struct observation *o)
{
	jo_object(j, "metadata");
	jo_int(j, "exit_code", o->exit_code);
	jo_int(j, "pid", o->background);
	jo_string(j, "username", o->user);
	jo_string(j, "hostname", o->hostname);
	jo_string(j, "working_dir", o->cwd);
	jo_string(j, "py_interpreter_path", o->python);
	put_buf(j, "prefix", &o->prefix);
	put_buf(j, "suffix", &o->suffix);
	jo_end_object(j);
}

static void say_run(const struct observation *o, struct buf *out)
{
	buf_puts(out, "Command `");
	buf_add(out, o->command.at ? o->command.at : "", o->command.len);
	buf_printf(out, "` executed with exit code %d.", o->exit_code);
}

static void extras_run(const struct observation *o, struct json_out *j)
{
	jo_string_n(j, "command", o->command.at ? o->command.at : "", o->command.len);
	put_metadata(j, o);
	jo_bool(j, "hidden", o->hidden);
}

static void say_read(const struct observation *o, struct buf *out)
{
	buf_printf(out, "I read the file %s.", buf_str(&o->path));
}

static void extras_read(const struct observation *o, struct json_out *j)
{
	put_buf(j, "path", &o->path);
	jo_string(j, "impl_source", o->editor ? "oh_aci" : "default");
}

static void say_write(const struct observation *o, struct buf *out)
{
	buf_printf(out, "I wrote to the file %s.", buf_str(&o->path));
}

static void extras_write(const struct observation *o, struct json_out *j)
{
	put_buf(j, "path", &o->path);
}

static void say_ipython(const struct observation *o, struct buf *out)
{
	(void)o;
	buf_puts(out, "Code executed in IPython cell.");
}

static void put_image(struct json_out *j, const struct buf *png)
{
	autobuf struct buf url = { 0 };

	file_data_url("image/png", buf_str(png), png->len, &url);
	put_buf(j, NULL, &url);
}

static void extras_ipython(const struct observation *o, struct json_out *j)
{
	jo_string_n(j, "code", o->code.at ? o->code.at : "", o->code.len);
	if (!o->n_images) {
		jo_null(j, "image_urls");
		return;
	}
	jo_array(j, "image_urls");
	for (unsigned i = 0; i < o->n_images; i++)
		put_image(j, &o->images[i]);
	jo_end_array(j);
}

static void say_edit(const struct observation *o, struct buf *out)
{
	buf_printf(out, "I edited the file %s.", buf_str(&o->path));
}

static void put_text(struct json_out *j, const char *key, struct text t)
{
	if (t.at)
		jo_string_n(j, key, t.at, t.len);
	else
		jo_null(j, key);
}

/* What was there before is never told, and contents are what was asked for: clients know it so. */
static void extras_edit(const struct observation *o, struct json_out *j)
{
	put_buf(j, "path", &o->path);
	jo_bool(j, "prev_exist", false);
	put_text(j, "old_content", o->old_str);
	put_text(j, "new_content", o->new_str);
	jo_string(j, "impl_source", "oh_aci");
	put_buf(j, "diff", &o->diff);
	jo_null(j, "_diff_cache");
}

static void say_error(const struct observation *o, struct buf *out)
{
	buf_add(out, buf_str(&o->content), o->content.len);
}

static void extras_error(const struct observation *o, struct json_out *j)
{
	(void)o;
	jo_string(j, "error_id", "");
}

/* Clients refuse a key they do not know in every kind but "run". */
static const struct {
	const char *name;
	void (*say)(const struct observation *o, struct buf *out);
	void (*extras)(const struct observation *o, struct json_out *j);
} observations[] = {
	[OBSERVED_RUN] = { "run", say_run, extras_run },
	[OBSERVED_READ] = { "read", say_read, extras_read },
	[OBSERVED_WRITE] = { "write", say_write, extras_write },
	[OBSERVED_IPYTHON] = { "run_ipython", say_ipython, extras_ipython },
	[OBSERVED_EDIT] = { "edit", say_edit, extras_edit },
	[OBSERVED_ERROR] = { "error", say_error, extras_error },
};

void wire_v0_observation(const struct observation *o, struct buf *out)
{
	struct json_out j = { .buf = out };
	autobuf struct buf message = { 0 };

	observations[o->kind].say(o, &message);
	jo_object(&j, NULL);
	put_buf(&j, "message", &message);
	jo_string(&j, "observation", observations[o->kind].name);
	put_buf(&j, "content", &o->content);
	jo_object(&j, "extras");
	observations[o->kind].extras(o, &j);
	jo_end_object(&j);
	if (o->kind == OBSERVED_RUN)
		jo_bool(&j, "success", o->exit_code == 0);
	else if (o->kind == OBSERVED_IPYTHON)
		jo_bool(&j, "success", true); /* whatever the cell raised */
	jo_end_object(&j);
}
