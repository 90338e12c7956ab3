# tests/bench - measurements; `make bench` runs tests/bench/run.
noinst_HEADERS += tests/bench/times.h tests/bench/wire.h
check_PROGRAMS += tests/bench/interleave
tests_bench_interleave_LDADD =
check_PROGRAMS += tests/bench/floor
tests_bench_floor_LDADD =
check_PROGRAMS += tests/bench/gone
tests_bench_gone_LDADD =
check_PROGRAMS += tests/bench/client
tests_bench_client_LDADD = -lpthread
check_PROGRAMS += tests/bench/daemon
tests_bench_daemon_LDADD = -lpthread
