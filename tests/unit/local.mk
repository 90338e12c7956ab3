# tests/unit - one cmocka program a module, one line each: tests/unit/test_X is made of test_X.c and
# of what it uses of the libraries.
check_PROGRAMS += tests/unit/test_slot
check_PROGRAMS += tests/unit/test_record
check_PROGRAMS += tests/unit/test_session
