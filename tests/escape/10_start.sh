# Rows of table 1: what a start could leak or be tricked into.
# shellcheck shell=bash disable=SC2034
. "$OHS_SRC/tests/escape/attack.sh"

file_setup() { escape_setup; }

# CVE-2019-5736: the host's programs are overwritten through /proc/PID/exe.
test_programs_of_the_host_cannot_be_overwritten_from_inside() {
	local before after
	before=$(sha256sum "$STAGE"/bin/ohsandbox*)
	for U in openhands root; do
		session "$U" sh -c 'for exe in /proc/*/exe; do (: >"$exe") 2>/dev/null && echo "overwrote $exe"; done; true'
		assert_not_contains "$out" overwrote
	done
	after=$(sha256sum "$STAGE"/bin/ohsandbox*)
	assert_eq "$before" "$after" "the programs"
	# Control: without a wall a program file is overwritten just so.
	as_me cp /bin/true "$T/victim"
	control as_me sh -c ': >"$0" && [ ! -s "$0" ]' "$T/victim"
}

# CVE-2024-21626: descriptors of the host come along.
test_no_descriptor_of_the_host_comes_along() {
	refused descriptors
	control sh -c 'exec 9</etc; "$0" descriptors' "$P/probe"
}

# CVE-2024-21626, second half: a working directory through a descriptor.
test_a_working_directory_through_a_descriptor_leads_nowhere() {
	local n
	for n in 3 4 5 6 7 8 9 10 20; do
		run ohs run --quiet --repo "$BASE/work/repo" --workdir "/proc/self/fd/$n" -- /bin/pwd
		[ "$status" -ne 0 ] || assert_match "$out" '^/(workspace|proc)'
		assert_not_contains "$out" "$BASE"
	done
	control sh -c 'exec 9</etc; cd /proc/self/fd/9 && [ -e passwd ]'
}

test_a_directory_as_standard_input_is_refused() {
	as_me sh -c 'exec "$0" run --quiet --repo "$1" -- ls -l /proc/self/fd/0/ <"$1"' "$STAGE/bin/ohsandbox" \
		"$BASE/work/repo" >"$T/out" 2>"$T/err" && fail "a directory was taken as standard input"
	assert_not_contains "$(cat "$T/out")" README
	control sh -c 'ls /proc/self/fd/0/ <"$0" | grep -q README' "$BASE/work/repo"
}

# A log opened for append must not be read back or cut through /proc/self/fd.
test_a_log_opened_for_append_cannot_be_read_back_or_cut() {
	as_me sh -c 'echo secret >"$0"' "$T/log"
	as_me sh -c '"$0" run --quiet --repo "$1" -- sh -c "cat </proc/self/fd/1 & : >/proc/self/fd/1; kill \$! 2>/dev/null; wait" >>"$2" 2>"$2.err"' \
		"$STAGE/bin/ohsandbox" "$BASE/work/repo" "$T/log" || true
	assert_eq "secret" "$(head -n 1 "$T/log")" "the log's first line"
	assert_eq 1 "$(grep -c secret "$T/log")" "copies of the log's line"
	# Control: inherited, the same descriptor is cut.
	as_me sh -c 'echo secret >"$0"' "$T/log2"
	as_me sh -c ': >/proc/self/fd/1' >>"$T/log2"
	assert_eq "" "$(cat "$T/log2")" "an inherited log after it was cut"
}

test_flags_of_the_callers_pipe_are_the_same_afterwards() {
	local before after
	mkfifo "$T/pipe"
	exec 7<>"$T/pipe"
	before=$(awk '/^flags/ { print $2 }' /proc/self/fdinfo/7)
	"$STAGE/bin/ohsandbox" --version >/dev/null
	run ohs run --quiet --repo "$BASE/work/repo" -- true <&7
	after=$(awk '/^flags/ { print $2 }' /proc/self/fdinfo/7)
	exec 7<&-
	assert_eq "$before" "$after" "flags"
}
