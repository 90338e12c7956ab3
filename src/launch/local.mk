# src/launch - bring it to life, watch it, take it down. One module a line.
noinst_LIBRARIES += liblaunch.a
liblaunch_a_SOURCES =
