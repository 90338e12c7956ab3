# sandbox/sudo - the program that stands inside sessions as `sudo`. All but main.c goes into a
# library, so that tests can link it.
noinst_LIBRARIES += libsudo.a
libsudo_a_SOURCES =
libsudo_a_SOURCES += sandbox/sudo/ask.c sandbox/sudo/ask.h
libsudo_a_SOURCES += sandbox/sudo/env.c sandbox/sudo/env.h
libsudo_a_SOURCES += sandbox/sudo/options.c sandbox/sudo/options.h
libsudo_a_SOURCES += sandbox/sudo/people.c sandbox/sudo/people.h
libsudo_a_SOURCES += sandbox/sudo/relay.c sandbox/sudo/relay.h
libsudo_a_SOURCES += sandbox/sudo/tty.c sandbox/sudo/tty.h

pkglibexec_PROGRAMS += ohsandbox-sudo
ohsandbox_sudo_SOURCES = sandbox/sudo/main.c
if SANITIZERS
ohsandbox_sudo_SOURCES += sandbox/sanitized.c
endif
ohsandbox_sudo_LDFLAGS = $(AM_LDFLAGS) $(EXECUTOR_LINK)
ohsandbox_sudo_LDADD = libsudo.a libctl.a libbase.a
