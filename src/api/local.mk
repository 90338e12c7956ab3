# src/api - the daemon: the runtime API over the same calls as the commands. One module a line.
noinst_LIBRARIES += libapi.a
libapi_a_SOURCES =
libapi_a_SOURCES += src/api/command.c src/api/command.h
libapi_a_SOURCES += src/api/words.c src/api/words.h
