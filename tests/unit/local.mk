# tests/unit - one cmocka program a module, one line each: tests/unit/test_X is made of test_X.c and
# of what it uses of the libraries.
noinst_HEADERS += tests/unit/unit.h
check_PROGRAMS += tests/unit/test_slot
check_PROGRAMS += tests/unit/test_cgroup
check_PROGRAMS += tests/unit/test_record
check_PROGRAMS += tests/unit/test_session
check_PROGRAMS += tests/unit/test_buf
check_PROGRAMS += tests/unit/test_err
check_PROGRAMS += tests/unit/test_fs
check_PROGRAMS += tests/unit/test_io
check_PROGRAMS += tests/unit/test_json
check_PROGRAMS += tests/unit/test_json_out
check_PROGRAMS += tests/unit/test_log
check_PROGRAMS += tests/unit/test_sha256
check_PROGRAMS += tests/unit/test_str
check_PROGRAMS += tests/unit/test_utf8
check_PROGRAMS += tests/unit/test_resolvers
check_PROGRAMS += tests/unit/test_options
check_PROGRAMS += tests/unit/test_env_file
check_PROGRAMS += tests/unit/test_client
check_PROGRAMS += tests/unit/test_relay
check_PROGRAMS += tests/unit/test_changes
check_PROGRAMS += tests/unit/test_ctl
check_PROGRAMS += tests/unit/test_gate
check_PROGRAMS += tests/unit/test_ids
check_PROGRAMS += tests/unit/test_rootfs
check_PROGRAMS += tests/unit/test_layers
