# src/cli - one file a command. All but main.c go into the library, so that tests can link them.
noinst_LIBRARIES += libcli.a
libcli_a_SOURCES =
libcli_a_SOURCES += src/cli/act.c
libcli_a_SOURCES += src/cli/clean.c
libcli_a_SOURCES += src/cli/cli.c src/cli/cli.h
libcli_a_SOURCES += src/cli/doctor.c src/cli/doctor.h
libcli_a_SOURCES += src/cli/doctor_host.c
libcli_a_SOURCES += src/cli/doctor_kernel.c
libcli_a_SOURCES += src/cli/doctor_net.c
libcli_a_SOURCES += src/cli/diff.c
libcli_a_SOURCES += src/cli/diff_patch.c src/cli/diff_patch.h
libcli_a_SOURCES += src/cli/env_file.c src/cli/env_file.h
libcli_a_SOURCES += src/cli/list.c
libcli_a_SOURCES += src/cli/options.c src/cli/options.h
libcli_a_SOURCES += src/cli/pause.c
libcli_a_SOURCES += src/cli/plain.c src/cli/plain.h
libcli_a_SOURCES += src/cli/policy.c
libcli_a_SOURCES += src/cli/report.c src/cli/report.h
libcli_a_SOURCES += src/cli/run.c
libcli_a_SOURCES += src/cli/serve.c
libcli_a_SOURCES += src/cli/session_args.c src/cli/session_args.h
libcli_a_SOURCES += src/cli/start.c
libcli_a_SOURCES += src/cli/stop.c

# The program. It must not link libgit2 or libnftables.
bin_PROGRAMS += ohsandbox
ohsandbox_SOURCES = src/cli/main.c
ohsandbox_LDFLAGS = $(AM_LDFLAGS) $(CLI_LINK)
ohsandbox_LDADD = $(HOST_ARCHIVES) $(HOST_LIBS)

# Completion for bash, zsh and fish, each where its shell looks.
dist_completion_DATA += completions/ohsandbox
zshcompletiondir = $(datadir)/zsh/vendor-completions
dist_zshcompletion_DATA = completions/_ohsandbox
fishcompletiondir = $(datadir)/fish/vendor_completions.d
dist_fishcompletion_DATA = completions/ohsandbox.fish
