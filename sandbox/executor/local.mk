# sandbox/executor - from exec on: init and the action server. One module a line; all but main.c
# go into the library, so that tests can link them.
noinst_LIBRARIES += libexecutor.a
libexecutor_a_SOURCES =
libexecutor_a_SOURCES += sandbox/executor/act_file.c sandbox/executor/act_run.c sandbox/executor/act.h
libexecutor_a_SOURCES += sandbox/executor/action.h
libexecutor_a_SOURCES += sandbox/executor/cage.c sandbox/executor/cage.h
libexecutor_a_SOURCES += sandbox/executor/conn.c sandbox/executor/conn.h
libexecutor_a_SOURCES += sandbox/executor/dispatch.c sandbox/executor/dispatch.h
libexecutor_a_SOURCES += sandbox/executor/file.c sandbox/executor/file.h
libexecutor_a_SOURCES += sandbox/executor/file_text.c sandbox/executor/file_text.h
libexecutor_a_SOURCES += sandbox/executor/helper.c sandbox/executor/helper.h
libexecutor_a_SOURCES += sandbox/executor/http.c sandbox/executor/http.h
libexecutor_a_SOURCES += sandbox/executor/info.c sandbox/executor/info.h
libexecutor_a_SOURCES += sandbox/executor/init.c sandbox/executor/init.h
libexecutor_a_SOURCES += sandbox/executor/loop.c sandbox/executor/loop.h
libexecutor_a_SOURCES += sandbox/executor/observation.c sandbox/executor/observation.h
libexecutor_a_SOURCES += sandbox/executor/procs.c sandbox/executor/procs.h
libexecutor_a_SOURCES += sandbox/executor/publish.c sandbox/executor/publish.h
libexecutor_a_SOURCES += sandbox/executor/route.c sandbox/executor/route.h
libexecutor_a_SOURCES += sandbox/executor/screen.c sandbox/executor/screen.h
libexecutor_a_SOURCES += sandbox/executor/server.c sandbox/executor/server.h
libexecutor_a_SOURCES += sandbox/executor/shed.c sandbox/executor/shed.h
libexecutor_a_SOURCES += sandbox/executor/shell.c sandbox/executor/shell.h
libexecutor_a_SOURCES += sandbox/executor/start.c sandbox/executor/start.h
libexecutor_a_SOURCES += sandbox/executor/wire_v0.c sandbox/executor/wire_v0.h

EXECUTOR_LIBS = $(YAJL_LIBS)

pkglibexec_PROGRAMS += ohsandbox-executor
ohsandbox_executor_SOURCES = sandbox/executor/main.c
ohsandbox_executor_LDFLAGS = $(AM_LDFLAGS) $(EXECUTOR_LINK)
ohsandbox_executor_LDADD = libexecutor.a libctl.a libbase.a $(EXECUTOR_LIBS)
