# tests/bench - measurements; `make bench` runs tests/bench/run.
