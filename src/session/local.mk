# src/session - what exists on the host for a session. One module a line.
noinst_LIBRARIES += libsession.a
libsession_a_SOURCES =
libsession_a_SOURCES += src/session/record.h
libsession_a_SOURCES += src/session/session.h
libsession_a_SOURCES += src/session/slot.c src/session/slot.h
libsession_a_SOURCES += src/session/slot_ids.c src/session/slot_ids.h
libsession_a_SOURCES += src/session/program.c src/session/program.h
