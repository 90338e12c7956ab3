# src/cli - one file a command. All but main.c go into the library, so that tests can link them.
noinst_LIBRARIES += libcli.a
libcli_a_SOURCES =

# The program: uncomment when main.c is there. It must not link libgit2 or libnftables.
#bin_PROGRAMS += ohsandbox
#ohsandbox_SOURCES = src/cli/main.c
#ohsandbox_LDFLAGS = $(AM_LDFLAGS) $(CLI_LINK)
#ohsandbox_LDADD = $(HOST_ARCHIVES) $(HOST_LIBS)

# The shell's completion; the file's name is the command's.
#dist_completion_DATA += src/cli/completion/ohsandbox
