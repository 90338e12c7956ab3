# sandbox/executor - from exec on: init and the action server. One module a line; all but main.c
# go into the library, so that tests can link them.
noinst_LIBRARIES += libexecutor.a
libexecutor_a_SOURCES =
libexecutor_a_SOURCES += sandbox/executor/act_browse.c
libexecutor_a_SOURCES += sandbox/executor/act_ipython.c sandbox/executor/act_ipython.h
libexecutor_a_SOURCES += sandbox/executor/act_edit.c
libexecutor_a_SOURCES += sandbox/executor/act_file.c sandbox/executor/act_run.c sandbox/executor/act.h
libexecutor_a_SOURCES += sandbox/executor/action.h
libexecutor_a_SOURCES += sandbox/executor/actions.c sandbox/executor/actions.h
libexecutor_a_SOURCES += sandbox/executor/actions_show.c sandbox/executor/actions_api.c sandbox/executor/actions_api.h
libexecutor_a_SOURCES += sandbox/executor/cage.c sandbox/executor/cage.h
libexecutor_a_SOURCES += sandbox/executor/cancel.c sandbox/executor/cancel.h
libexecutor_a_SOURCES += sandbox/executor/cell_text.c sandbox/executor/cell_text.h
libexecutor_a_SOURCES += sandbox/executor/char_width.c sandbox/executor/char_width.h
libexecutor_a_SOURCES += sandbox/executor/dispatch.c sandbox/executor/dispatch.h
libexecutor_a_SOURCES += sandbox/executor/edit_history.c sandbox/executor/edit_history.h
libexecutor_a_SOURCES += sandbox/executor/edit_text.c sandbox/executor/edit_text.h
libexecutor_a_SOURCES += sandbox/executor/encoding.c sandbox/executor/encoding.h
libexecutor_a_SOURCES += sandbox/executor/execute.c sandbox/executor/execute.h
libexecutor_a_SOURCES += sandbox/executor/feed.c sandbox/executor/feed.h
libexecutor_a_SOURCES += sandbox/executor/file.c sandbox/executor/file.h
libexecutor_a_SOURCES += sandbox/executor/file_edit.c sandbox/executor/file_edit.h
libexecutor_a_SOURCES += sandbox/executor/file_edit_check.c sandbox/executor/file_edit_parts.h
libexecutor_a_SOURCES += sandbox/executor/file_io.c sandbox/executor/file_io.h
libexecutor_a_SOURCES += sandbox/executor/file_list.c sandbox/executor/file_list.h
libexecutor_a_SOURCES += sandbox/executor/file_text.c sandbox/executor/file_text.h
libexecutor_a_SOURCES += sandbox/executor/helper.c sandbox/executor/helper.h
libexecutor_a_SOURCES += sandbox/executor/idempotent.c sandbox/executor/idempotent.h
libexecutor_a_SOURCES += sandbox/executor/info.c sandbox/executor/info.h
libexecutor_a_SOURCES += sandbox/executor/init.c sandbox/executor/init.h sandbox/executor/init_ask.c
libexecutor_a_SOURCES += sandbox/executor/init_children.c sandbox/executor/init_parts.h
libexecutor_a_SOURCES += sandbox/executor/kernel.c sandbox/executor/kernel.h
libexecutor_a_SOURCES += sandbox/executor/kernel_wire.c sandbox/executor/kernel_wire.h
libexecutor_a_SOURCES += sandbox/executor/keys.c sandbox/executor/keys.h
libexecutor_a_SOURCES += sandbox/executor/leaf.c sandbox/executor/leaf.h
libexecutor_a_SOURCES += sandbox/executor/leaves.c sandbox/executor/leaves.h
libexecutor_a_SOURCES += sandbox/executor/lex.c sandbox/executor/lex.h
libexecutor_a_SOURCES += sandbox/executor/newline.c sandbox/executor/newline.h
libexecutor_a_SOURCES += sandbox/executor/mcp.c sandbox/executor/mcp.h
libexecutor_a_SOURCES += sandbox/executor/meter.c sandbox/executor/meter.h
libexecutor_a_SOURCES += sandbox/executor/notify.c sandbox/executor/notify.h
libexecutor_a_SOURCES += sandbox/executor/observation.c sandbox/executor/observation.h
libexecutor_a_SOURCES += sandbox/executor/procs.c sandbox/executor/procs.h
libexecutor_a_SOURCES += sandbox/executor/publish.c sandbox/executor/publish.h
libexecutor_a_SOURCES += sandbox/executor/route.c sandbox/executor/route.h
libexecutor_a_SOURCES += sandbox/executor/standstill.c sandbox/executor/standstill.h
libexecutor_a_SOURCES += sandbox/executor/run_text.c sandbox/executor/run_text.h
libexecutor_a_SOURCES += sandbox/executor/screen.c sandbox/executor/screen.h
libexecutor_a_SOURCES += sandbox/executor/screen_control.c sandbox/executor/screen_control.h
libexecutor_a_SOURCES += sandbox/executor/screen_draw.c sandbox/executor/screen_draw.h
libexecutor_a_SOURCES += sandbox/executor/screen_grid.c sandbox/executor/screen_grid.h
libexecutor_a_SOURCES += sandbox/executor/server.c sandbox/executor/server.h
libexecutor_a_SOURCES += sandbox/executor/shed.c sandbox/executor/shed.h
libexecutor_a_SOURCES += sandbox/executor/shell.c sandbox/executor/shell.h sandbox/executor/shell_type.c
libexecutor_a_SOURCES += sandbox/executor/shell_lines.c sandbox/executor/shell_lines.h
libexecutor_a_SOURCES += sandbox/executor/several.c sandbox/executor/several.h
libexecutor_a_SOURCES += sandbox/executor/split.c sandbox/executor/split.h
libexecutor_a_SOURCES += sandbox/executor/start.c sandbox/executor/start.h sandbox/executor/start_child.c
libexecutor_a_SOURCES += sandbox/executor/start_env.c sandbox/executor/start_io.c sandbox/executor/start_parts.h
libexecutor_a_SOURCES += sandbox/executor/syscalls.c sandbox/executor/syscalls.h
libexecutor_a_SOURCES += sandbox/executor/sudo_command.c sandbox/executor/sudo_command.h
libexecutor_a_SOURCES += sandbox/executor/sudo_door.c sandbox/executor/sudo_door.h
libexecutor_a_SOURCES += sandbox/executor/sudo_monitor.c sandbox/executor/sudo_monitor.h
libexecutor_a_SOURCES += sandbox/executor/sudo_porter.c sandbox/executor/sudo_porter.h
libexecutor_a_SOURCES += sandbox/executor/text.c sandbox/executor/text.h
libexecutor_a_SOURCES += sandbox/executor/terminal.c sandbox/executor/terminal.h
libexecutor_a_SOURCES += sandbox/executor/udiff.c sandbox/executor/udiff.h
libexecutor_a_SOURCES += sandbox/executor/udiff_match.c sandbox/executor/udiff_match.h
libexecutor_a_SOURCES += sandbox/executor/violation.c sandbox/executor/violation.h
libexecutor_a_SOURCES += sandbox/executor/wire_v0.c sandbox/executor/wire_v0.h
libexecutor_a_SOURCES += sandbox/executor/wire_v0_out.c
libexecutor_a_SOURCES += sandbox/executor/wire_v0_values.c sandbox/executor/wire_v0_values.h
libexecutor_a_SOURCES += sandbox/executor/transfer.c sandbox/executor/transfer.h sandbox/executor/transfer_own.h
libexecutor_a_SOURCES += sandbox/executor/transfer_in.c sandbox/executor/transfer_out.c sandbox/executor/transfer_wire.h
libexecutor_a_SOURCES += sandbox/executor/tree.c sandbox/executor/tree.h sandbox/executor/tree_own.h
libexecutor_a_SOURCES += sandbox/executor/tree_list.c sandbox/executor/tree_pack.c sandbox/executor/tree_unpack.c
libexecutor_a_SOURCES += sandbox/executor/tree_view.c
libexecutor_a_SOURCES += sandbox/executor/view.c sandbox/executor/view.h sandbox/executor/view_listen.c
libexecutor_a_SOURCES += sandbox/executor/zip_data.c sandbox/executor/zip_read.c sandbox/executor/zip_write.c sandbox/executor/zip.h

# The program that runs cells is brought along as bytes. No Python is needed to build it.
libexecutor_a_SOURCES += sandbox/executor/kernel_program.h
nodist_libexecutor_a_SOURCES = sandbox/executor/kernel_program.c sandbox/executor/syscall_names.c
EXTRA_DIST += sandbox/executor/kernel.py
CLEANFILES += sandbox/executor/kernel_program.c
sandbox/executor/kernel_program.c: $(srcdir)/sandbox/executor/kernel.py $(srcdir)/sandbox/executor/local.mk
	$(AM_V_GEN)$(MKDIR_P) $(@D) && { \
		echo '/* Made from kernel.py. */' && echo '#include "sandbox/executor/kernel_program.h"' && \
		echo 'const char kernel_program[] = {' && \
		od -An -v -tx1 $(srcdir)/sandbox/executor/kernel.py | sed 's/ *\([0-9a-f][0-9a-f]\)/0x\1,/g' && \
		echo '};' && echo 'const size_t kernel_program_len = sizeof(kernel_program);'; } >$@.tmp && mv $@.tmp $@

# Names of system calls, by number, as the kernel's header has them.
CLEANFILES += sandbox/executor/syscall_names.c
sandbox/executor/syscall_names.c: $(srcdir)/sandbox/executor/local.mk
	$(AM_V_GEN)$(MKDIR_P) $(@D) && { \
		echo '/* Made from <asm/unistd.h>. */' && echo '#include "sandbox/executor/syscalls.h"' && \
		echo 'const char syscall_names[] =' && \
		echo '#include <asm/unistd.h>' | $(CC) $(CPPFLAGS) -E -dM - | \
			sed -n 's/^#define __NR_\([a-z0-9_]*\) \([0-9][0-9]*\)$$/\t"\2 \1\\0"/p' && \
		echo ';' && echo 'const size_t syscall_names_len = sizeof(syscall_names) - 1;'; } >$@.tmp && mv $@.tmp $@

EXECUTOR_LIBS = $(YAJL_LIBS) $(ZLIB_LIBS) $(DEFLATE_LIBS)

pkglibexec_PROGRAMS += ohsandbox-executor
ohsandbox_executor_SOURCES = sandbox/executor/main.c
if SANITIZERS
ohsandbox_executor_SOURCES += sandbox/sanitized.c
endif
ohsandbox_executor_LDFLAGS = $(AM_LDFLAGS) $(EXECUTOR_LINK)
ohsandbox_executor_LDADD = libexecutor.a libctl.a libhttp.a libbase.a $(EXECUTOR_LIBS)
