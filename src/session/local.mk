# src/session - what exists on the host for a session. One module a line.
noinst_LIBRARIES += libsession.a
libsession_a_SOURCES =
libsession_a_SOURCES += src/session/changes.h
libsession_a_SOURCES += src/session/idhelper.c src/session/idhelper.h
libsession_a_SOURCES += src/session/overlay.c src/session/overlay.h
libsession_a_SOURCES += src/session/remove.c src/session/remove.h
libsession_a_SOURCES += src/session/rootfs.h
libsession_a_SOURCES += src/session/journal.c
libsession_a_SOURCES += src/session/record.c src/session/record.h
libsession_a_SOURCES += src/session/session.c src/session/session.h
libsession_a_SOURCES += src/session/state.c
libsession_a_SOURCES += src/session/slot.c src/session/slot.h
libsession_a_SOURCES += src/session/slot_ids.c src/session/slot_ids.h
libsession_a_SOURCES += src/session/program.c src/session/program.h
libsession_a_SOURCES += src/session/resolvers.c src/session/resolvers.h
