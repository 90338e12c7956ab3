# systemd - the units of the daemon, for the system and for a user; both have the same socket.
unit_files = systemd/ohsandbox-serve.service systemd/ohsandbox-serve.socket
user_unit_files = systemd/user/ohsandbox-serve.service systemd/user/ohsandbox-serve.socket
systemunitdir = $(prefix)/lib/systemd/system
systemunit_DATA = $(unit_files)
userunitdir = $(prefix)/lib/systemd/user
userunit_DATA = $(user_unit_files)
CLEANFILES += $(unit_files) $(user_unit_files)
EXTRA_DIST += systemd/ohsandbox-serve.service.in systemd/ohsandbox-serve.socket.in \
	systemd/user/ohsandbox-serve.service.in

write_unit = $(AM_V_GEN)$(MKDIR_P) $(@D) && \
	sed -e 's|@bindir[@]|$(bindir)|g' -e 's|@sysconfdir[@]|$(sysconfdir)|g' $< >$@

systemd/ohsandbox-serve.service: $(srcdir)/systemd/ohsandbox-serve.service.in Makefile
	$(write_unit)
systemd/ohsandbox-serve.socket: $(srcdir)/systemd/ohsandbox-serve.socket.in Makefile
	$(write_unit)
systemd/user/ohsandbox-serve.service: $(srcdir)/systemd/user/ohsandbox-serve.service.in Makefile
	$(write_unit)
systemd/user/ohsandbox-serve.socket: $(srcdir)/systemd/ohsandbox-serve.socket.in Makefile
	$(write_unit)
