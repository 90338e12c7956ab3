# sandbox - from clone to exec. One module a line.
noinst_LIBRARIES += libctl.a libinside.a

# Linked by the host and by the executor.
libctl_a_SOURCES =
libctl_a_SOURCES += sandbox/ctl.c sandbox/ctl.h
libctl_a_SOURCES += sandbox/sudo.c sandbox/sudo.h
libctl_a_SOURCES += sandbox/wire.c sandbox/wire.h

# Linked by the host alone.
libinside_a_SOURCES =
libinside_a_SOURCES += sandbox/gate.c sandbox/gate.h
libinside_a_SOURCES += sandbox/ids.c sandbox/ids.h
libinside_a_SOURCES += sandbox/inside.c sandbox/inside.h
libinside_a_SOURCES += sandbox/mount.c sandbox/mount.h sandbox/mount_fresh.c sandbox/mount_fsctx.c
libinside_a_SOURCES += sandbox/mount_layer.c sandbox/mount_mask.c
libinside_a_SOURCES += sandbox/caps.c sandbox/caps.h sandbox/fds.c sandbox/fds.h
libinside_a_SOURCES += sandbox/limits.c sandbox/limits.h
libinside_a_SOURCES += sandbox/link.c sandbox/link.h
libinside_a_SOURCES += sandbox/netlink.c sandbox/netlink.h
