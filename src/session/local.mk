# src/session - what exists on the host for a session. One module a line.
noinst_LIBRARIES += libsession.a
libsession_a_SOURCES =
libsession_a_SOURCES += src/session/record.h
libsession_a_SOURCES += src/session/session.h
