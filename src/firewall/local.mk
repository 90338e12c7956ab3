# src/firewall - ohsandbox-firewall, the one program that links libnftables. All but main.c go into
# the library.
noinst_LIBRARIES += libfirewall.a
libfirewall_a_SOURCES =
libfirewall_a_SOURCES += src/firewall/ruleset.c src/firewall/ruleset.h

pkglibexec_PROGRAMS += ohsandbox-firewall
ohsandbox_firewall_SOURCES = src/firewall/main.c
ohsandbox_firewall_LDFLAGS = $(AM_LDFLAGS) $(DYNAMIC_LINK)
ohsandbox_firewall_LDADD = libfirewall.a libbase.a $(NFTABLES_LIBS)
