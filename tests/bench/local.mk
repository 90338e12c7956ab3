# tests/bench - measurements; `make bench` runs tests/bench/run.
check_PROGRAMS += tests/bench/interleave
tests_bench_interleave_LDADD =
