# tests/fuzz - one target a parser of foreign bytes, one line each: fuzz_X.c defines
# LLVMFuzzerTestOneInput, its corpus is tests/fuzz/corpus/X. Without --enable-fuzzing, driver.c is
# the main function: it replays the files named on its command line.
if FUZZING
TEST_EXTRA = $(FUZZ_ENGINE)
else
check_LIBRARIES += libfuzzdriver.a
libfuzzdriver_a_SOURCES = tests/fuzz/driver.c
TEST_EXTRA = libfuzzdriver.a
endif
check_PROGRAMS += tests/fuzz/fuzz_record
check_PROGRAMS += tests/fuzz/fuzz_request
check_PROGRAMS += tests/fuzz/fuzz_json
check_PROGRAMS += tests/fuzz/fuzz_client
check_PROGRAMS += tests/fuzz/fuzz_ctl
check_PROGRAMS += tests/fuzz/fuzz_sudo
check_PROGRAMS += tests/fuzz/fuzz_policy
check_PROGRAMS += tests/fuzz/fuzz_http
check_PROGRAMS += tests/fuzz/fuzz_multipart
check_PROGRAMS += tests/fuzz/fuzz_zip
check_PROGRAMS += tests/fuzz/fuzz_action
check_PROGRAMS += tests/fuzz/fuzz_edit
check_PROGRAMS += tests/fuzz/fuzz_udiff
check_PROGRAMS += tests/fuzz/fuzz_screen
check_PROGRAMS += tests/fuzz/fuzz_kernel
check_PROGRAMS += tests/fuzz/fuzz_index
check_PROGRAMS += tests/fuzz/fuzz_split
check_PROGRAMS += tests/fuzz/fuzz_command
check_PROGRAMS += tests/fuzz/fuzz_config
check_PROGRAMS += tests/fuzz/fuzz_start_body
check_PROGRAMS += tests/fuzz/fuzz_terminal
tests_fuzz_fuzz_terminal_LDADD = $(LDADD) $(VTERM_LIBS)
