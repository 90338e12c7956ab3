# src/launch - bring it to life, watch it, take it down. One module a line.
noinst_LIBRARIES += liblaunch.a
liblaunch_a_SOURCES =
liblaunch_a_SOURCES += src/launch/spawn.c src/launch/spawn.h
liblaunch_a_SOURCES += src/launch/idmap.c src/launch/idmap.h
liblaunch_a_SOURCES += src/launch/admit.c src/launch/admit.h
liblaunch_a_SOURCES += src/launch/bridge.c src/launch/bridge.h
liblaunch_a_SOURCES += src/launch/net.c src/launch/net.h
liblaunch_a_SOURCES += src/launch/net_shared.c
liblaunch_a_SOURCES += src/launch/netns.c src/launch/netns.h
liblaunch_a_SOURCES += src/launch/client.c src/launch/client.h
liblaunch_a_SOURCES += src/launch/lifecycle.c src/launch/lifecycle.h
liblaunch_a_SOURCES += src/launch/listen.c src/launch/listen.h
liblaunch_a_SOURCES += src/launch/powers.c src/launch/powers.h
liblaunch_a_SOURCES += src/launch/pump.c src/launch/pump.h
liblaunch_a_SOURCES += src/launch/relay.c src/launch/relay.h
liblaunch_a_SOURCES += src/launch/supervise.c src/launch/supervise.h
liblaunch_a_SOURCES += src/launch/stages.c src/launch/stages_live.c src/launch/stages.h
