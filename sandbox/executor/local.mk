# sandbox/executor - from exec on: init and the action server. One module a line; all but main.c
# go into the library, so that tests can link them.
noinst_LIBRARIES += libexecutor.a
libexecutor_a_SOURCES =

EXECUTOR_LIBS = $(YAJL_LIBS)

# The program: uncomment when main.c is there.
#pkglibexec_PROGRAMS += ohsandbox-executor
#ohsandbox_executor_SOURCES = sandbox/executor/main.c
#ohsandbox_executor_LDFLAGS = $(AM_LDFLAGS) $(EXECUTOR_LINK)
#ohsandbox_executor_LDADD = libexecutor.a libctl.a libbase.a $(EXECUTOR_LIBS)
