#!/bin/bash
# SPDX-License-Identifier: MIT
# File actions in a living session: plain reads and writes, the editor, and what a workload may do to them.

file_setup() {
	make_repo "$BASE/work/repo"
	cd "$BASE/work/repo" || return 1
	ohs start >"$BASE/session.json" || return 1
	kept "$(jq -r .id "$BASE/session.json")"
}

file_teardown() { ohs stop "$(jq -r .id "$BASE/session.json")"; }

url() { jq -r .url "$BASE/session.json"; }
key() { jq -r .session_api_key "$BASE/session.json"; }
post() { curl -s -m 100 -H "X-Session-API-Key: $(key)" -d @- "$(url)/execute_action"; }

# do_action NAME ARGS: sets $seen to the answer. ARGS is a jq object.
do_action() {
	seen=$(jq -nc --arg a "$1" "{action: {action: \$a, args: $2}, timeout: 60.0}" | post)
}

sh_() { # COMMAND: in the session's shell; its output on stdout
	local quoted

	quote "$1"
	post <<<'{"action":{"action":"run","args":{"command":'"$quoted"'},"timeout":60.0}}' | jq -r .content
}

content() { jq -r .content <<<"$seen"; }
kind() { jq -r .observation <<<"$seen"; }
diff_() { jq -r .extras.diff <<<"$seen"; }

edit() { # COMMAND PATH [MORE]: MORE is a jq object
	do_action edit "({command: \"$1\", path: \"$2\", impl_source: \"oh_aci\"} + ${3:-{\}})"
}
view() { do_action read "({path: \"$1\", impl_source: \"oh_aci\"} + ${2:-{\}})"; }

refused() { assert_eq $'ERROR:\n'"$1" "$(content)"; }

N="Here's the result of running \`cat -n\` on"

# The process that reaches files: there, but hidden from the workload.
HELPER='for ((p = 3; p < 4000; p++)); do kill -0 $p 2>/dev/null && [ ! -e /proc/$p ] && echo $p; done'

test_the_examples_of_the_reference_come_out_as_they_are() {
	sh_ 'seq -f "line %g" 20 | head -c -1 >n.txt; printf "line 1\n\nline 4\nline 5\n" >m.txt' >/dev/null
	edit str_replace /workspace/n.txt '{old_str: "line 10\nline 11", new_str: "A\nB\nC"}'
	assert_eq edit "$(kind)"
	assert_eq "The file /workspace/n.txt has been edited. $N a snippet of /workspace/n.txt:
     7	line 7
     8	line 8
     9	line 9
    10	A
    11	B
    12	C
    13	line 12
    14	line 13
    15	line 14
    16	line 15
    17	
Review the changes and make sure they are as expected. Edit the file again if necessary." "$(content)"
	assert_eq $'--- /workspace/n.txt\n+++ /workspace/n.txt\n@@ -10,2 +10,3 @@\n-line 10\n-line 11\n+A\n+B\n+C' "$(diff_)"
	assert_eq '{"path":"/workspace/n.txt","prev_exist":false,"old_content":"line 10\nline 11","new_content":"A\nB\nC","impl_source":"oh_aci","diff":"","_diff_cache":null}' \
		"$(jq -c '.extras | .diff = ""' <<<"$seen")"
	assert_eq '["content","extras","message","observation"]' "$(jq -c 'del(.action_id) | keys' <<<"$seen")"
	edit insert /workspace/m.txt '{insert_line: 0, new_str: "TOP"}'
	assert_eq "The file /workspace/m.txt has been edited. $N a snippet of the edited file:
     1	TOP
     2	line 1
     3	
     4	line 4
     5	line 5
     6	
Review the changes and make sure they are as expected (correct indentation, no duplicate lines, etc). Edit the file again if necessary." "$(content)"
}

test_a_file_is_created_viewed_edited_and_undone() {
	edit create /workspace/c.txt '{file_text: "one\ntwo\n"}'
	assert_eq "File created successfully at: /workspace/c.txt" "$(content)"
	assert_eq "$(id_of) 644" "$(sh_ 'stat -c "%u %a" c.txt')"
	view /workspace/c.txt
	assert_eq read "$(kind)"
	assert_eq '{"path":"/workspace/c.txt","impl_source":"oh_aci"}' "$(jq -c .extras <<<"$seen")"
	assert_eq "$N /workspace/c.txt:"$'\n     1\tone\n     2\ttwo\n     3\t' "$(content)"
	view /workspace/c.txt '{view_range: [2, 9]}'
	assert_eq "NOTE: We only show up to 2 since there're only 2 lines in this file.
$N /workspace/c.txt:"$'\n     2\ttwo' "$(content)"
	edit insert /workspace/c.txt '{insert_line: "2", new_str: "three"}'
	edit str_replace /workspace/c.txt '{old_str: "one\n"}'
	edit undo_edit //workspace/./c.txt
	assert_eq "Last edit to /workspace/c.txt undone successfully. $N /workspace/c.txt:
     1	one
     2	two
     3	three
     4	" "$(content)"
	assert_eq $'--- //workspace/./c.txt\n+++ //workspace/./c.txt\n@@ -0,0 +1 @@\n+one' "$(diff_)"
	edit undo_edit /workspace/c.txt
	edit undo_edit /workspace/c.txt
	assert_contains "$(content)" "undone successfully"
	edit undo_edit /workspace/c.txt
	refused "No edit history found for /workspace/c.txt."
	assert_eq $'one\ntwo' "$(sh_ 'cat c.txt')"
}

id_of() { sh_ 'id -u'; }

test_refusals_have_the_references_words_and_order() {
	edit view c
	refused "Invalid \`path\` parameter: c. The path should be an absolute path, starting with \`/\`."
	edit view README
	refused "Invalid \`path\` parameter: README. The path should be an absolute path, starting with \`/\`. Maybe you meant /workspace/README?"
	edit create /workspace/README '{insert_line: "x"}'
	refused "Invalid insert_line value: 'x'. Expected an integer."
	edit create /workspace/README
	refused "Invalid \`path\` parameter: /workspace/README. File already exists at: /workspace/README. Cannot overwrite files using command \`create\`."
	edit fly /workspace/src
	refused "Invalid \`path\` parameter: /workspace/src. The path /workspace/src is a directory and only the \`view\` command can be used on directories."
	edit "" /workspace/README
	refused "Unrecognized command . The allowed commands for the oh_editor tool are: view, create, str_replace, insert, undo_edit"
	edit insert /workspace/README
	refused "Parameter \`insert_line\` is required for command: insert."
	edit create /workspace/no/such '{file_text: ""}'
	refused "Ran into [Errno 2] No such file or directory: '/workspace/no/such' while trying to write to /workspace/no/such"
	view /workspace/README '{view_range: ["a", 1]}'
	refused "Invalid \`view_range\` parameter: ['a', 1]. It should be a list of two integers."
	assert_eq read "$(kind)"
}

test_what_changes_keeps_its_line_ends_encoding_mode_and_name() {
	sh_ 'printf "a\r\nb\r\n" >crlf; chmod 750 crlf; ln crlf hard; ln -s crlf soft; printf "\xff\xfea\0\n\0" >wide' >/dev/null
	edit str_replace /workspace/soft '{old_str: "b", new_str: "c\nd"}'
	edit insert /workspace/soft '{insert_line: 0, new_str: "top"}'
	assert_eq "top.a.c.d. 750 $(id_of) yes" \
		"$(sh_ 'tr "\r\n" "." <hard | sed "s/\.\././g"; stat -c " %a %u" hard | tr "\n" " "; [ -L soft ] && echo yes')"
	assert_eq 8 "$(sh_ 'tr -dc "\r\n" <hard | wc -c')"
	edit str_replace /workspace/wide '{old_str: "a", new_str: "é"}'
	assert_eq "fffee9000a00" "$(sh_ 'od -An -tx1 wide | tr -d " "')"
	sh_ 'printf "caf\xe9 cr\xe8me" >latin' >/dev/null
	view /workspace/latin
	refused "Ran into 'utf-8' codec can't decode byte 0xe9 in position 3: invalid continuation byte while trying to read /workspace/latin"
	do_action read '{path: "latin"}'
	assert_eq "error File could not be decoded as utf-8: /workspace/latin." "$(kind) $(content)"
	do_action write '{path: "latin", content: "x", start: 1}'
	assert_eq "error File could not be decoded as utf-8: /workspace/latin" "$(kind) $(content)"
	do_action write '{path: "crlf", content: "x\ny", start: 1, end: 2}'
	assert_eq "top.x.y.c.d." "$(sh_ 'tr -d "\n" <crlf | tr "\r" "."')"
}

test_directories_are_listed_whatever_their_names() {
	sh_ 'mkdir -p "d \$x; y/sub/deep" "d \$x; y/.git"; touch "d \$x; y/f" "d \$x; y/sub/.h"; mkfifo "d \$x; y/pipe"' >/dev/null
	view '/workspace/d $x; y/'
	assert_eq "Here's the files and directories up to 2 levels deep in /workspace/d \$x; y, excluding hidden items:
/workspace/d \$x; y/
/workspace/d \$x; y/f
/workspace/d \$x; y/pipe
/workspace/d \$x; y/sub/
/workspace/d \$x; y/sub/deep/

1 hidden files/directories in this directory are excluded. You can use 'ls -la /workspace/d \$x; y' to see them." "$(content)"
	view /
	assert_contains "$(content)" $'excluding hidden items:\n/\n/bin/\n'
	view /usr/bin
	assert_contains "$(content)" "<response clipped><NOTE>Due to the max output limit, only part of this directory has been shown to you."
}

test_large_and_binary_files_are_told_from_text() {
	sh_ 'truncate -s 11M large; printf "a\0b" >binary; seq 20000 >long; head -c 10000000 /dev/zero | tr "\0" x >ten; touch a.docx; printf "\x89PNG" >i.png' >/dev/null
	edit view /workspace/large
	refused "File validation failed for /workspace/large: File is too large (11.0MB). Maximum allowed size is 10MB."
	edit view /workspace/binary
	refused "File validation failed for /workspace/binary: File appears to be binary and this file type cannot be read or edited by this tool."
	view /workspace/binary
	assert_eq "error ERROR_BINARY_FILE" "$(kind) $(content)"
	do_action read '{path: "/workspace/binary"}'
	assert_eq "error ERROR_BINARY_FILE" "$(kind) $(content)"
	view /workspace/long
	assert_contains "$(content)" "only part of this file has been shown to you."
	edit str_replace /workspace/ten "{old_str: (\"x\" * 1000), new_str: \"y\"}"
	assert_contains "$(content)" "[1]. Please ensure it is unique"
	edit insert /workspace/ten '{insert_line: 1, new_str: "end"}'
	assert_contains "$(content)" "has been edited"
	edit undo_edit /workspace/ten
	refused "No edit history found for /workspace/ten." # larger than what is remembered
	view /workspace/a.docx
	refused "Error in converting file to Markdown: there is no converter for .docx files. Please use Python code to read /workspace/a.docx"
	for path in i.png /workspace/i.png; do
		do_action read "{path: \"$path\"}"
		assert_eq "read data:image/png;base64,iVBORw==" "$(kind) $(content)"
	done
}

test_rights_are_those_of_the_user() {
	sh_ 'mkdir -m 555 locked; printf x >sealed; chmod 0 sealed; printf x >shut; chmod 444 shut' >/dev/null
	edit view /workspace/sealed
	refused "Ran into [Errno 13] Permission denied: '/workspace/sealed' while trying to read /workspace/sealed"
	edit str_replace /workspace/shut '{old_str: "x", new_str: "y"}'
	refused "Ran into [Errno 13] Permission denied: '/workspace/shut' while trying to write to /workspace/shut"
	edit create /workspace/locked/f '{file_text: ""}'
	refused "Ran into [Errno 13] Permission denied: '/workspace/locked/f' while trying to write to /workspace/locked/f"
}

test_what_could_block_is_refused_by_what_it_is() {
	local path

	sh_ 'mkfifo pipe; ln -s pipe to-pipe; ln -s loop loop; python3 -c "import socket; socket.socket(socket.AF_UNIX).bind(\"sock\")" 2>/dev/null' >/dev/null
	for path in /workspace/pipe /workspace/to-pipe /dev/zero /dev/tty /dev/ptmx /dev/stdin; do
		for command in view undo_edit; do
			edit $command $path
			assert_contains "$(content)" "$path"
			assert_contains "$(content)" "ERROR:"
		done
		do_action read "{path: \"$path\"}"
		assert_eq "error Path is not a regular file: $path. You can only read files" "$(kind) $(content)"
		do_action write "{path: \"$path\", content: \"x\"}"
		assert_eq error "$(kind)"
	done
	edit view /workspace/loop
	assert_contains "$(content)" "does not exist"
	# Nobody was let go on who waits for the other end of the pipe.
	sh_ '((echo told >pipe; touch told) &)' >/dev/null
	do_action read '{path: "pipe"}'
	edit view /workspace/pipe
	assert_eq waits "$(sh_ '[ -e told ] || echo waits')"
	assert_eq told "$(sh_ 'cat pipe')"
}

test_files_about_the_helper_are_none() {
	local path

	for path in /proc/self/maps /proc/thread-self/maps /proc/self/stat /proc/self/auxv /proc/self/fdinfo/0; do
		do_action read "{path: \"$path\"}"
		assert_contains "$seen" "Permission denied"
		edit view $path
		assert_contains "$(content)" "Permission denied"
	done
	sh_ 'ln -sf /proc/self/maps maps' >/dev/null
	edit view /workspace/maps
	assert_contains "$(content)" "Permission denied"
	view /proc/self/
	assert_contains "$(content)" "Permission denied"
	# Who runs a command sees its own, and of others there is what there is.
	assert_contains "$(sh_ 'cat /proc/self/maps')" "/cat"
	assert_contains "$(do_action read '{path: "/proc/meminfo"}'; content)" MemTotal
}

test_a_stopped_helper_is_told_to_go_on() {
	local pids

	view /workspace/README
	pids=$(sh_ "$HELPER")
	assert_match "$pids" '^[0-9]+$'
	sh_ "kill -STOP $pids" >/dev/null
	view /workspace/README
	assert_contains "$(content)" hello
	assert_eq "$pids" "$(sh_ "$HELPER")"
}

test_a_killed_helper_takes_no_history_and_no_request_with_it() {
	edit create /workspace/h.txt '{file_text: "first"}'
	edit str_replace /workspace/h.txt '{old_str: "first", new_str: "second"}'
	sh_ "kill -9 \$($HELPER)" >/dev/null
	edit undo_edit /workspace/h.txt
	assert_contains "$(content)" "undone successfully"
	assert_eq first "$(sh_ 'cat h.txt')"
	for i in 1 2 3 4 5; do
		sh_ "kill -9 \$($HELPER)" >/dev/null
		edit str_replace /workspace/h.txt "{old_str: \"first\", new_str: \"first$i\"}"
		assert_contains "$(content)" "has been edited"
	done
	assert_eq first54321 "$(sh_ 'cat h.txt')"
}

test_the_past_cannot_be_forged_only_overwritten() {
	edit create /workspace/p.txt '{file_text: "mine"}'
	edit insert /workspace/p.txt '{insert_line: 1, new_str: "more"}'
	sh_ 'mv p.txt q.txt; echo theirs >p.txt' >/dev/null
	edit undo_edit /workspace/p.txt
	assert_eq "mine theirs" "$(sh_ 'cat p.txt; grep -h theirs p.txt q.txt || echo " theirs"' | tr -d '\n')"
}

test_directories_that_are_swapped_meanwhile_lead_nowhere_new() {
	local i

	sh_ 'mkdir -p in; echo in >in/f; ln -sfn /usr out
	(while [ ! -e stop ]; do mv -T in a; mv -T out in; mv -T in out; mv -T a in; done 2>/dev/null &)' >/dev/null
	for i in $(seq 8); do
		edit create "/workspace/in/new$i" '{file_text: "x"}'
		assert_eq edit "$(kind)"
		edit str_replace /workspace/in/f '{old_str: "in", new_str: "in"}'
		assert_eq edit "$(kind)"
		do_action write '{path: "/workspace/in/hostname", content: "x"}'
		view /workspace/in
		assert_eq read "$(kind)"
	done
	sh_ 'touch stop; ls -d /usr/new* /usr/hostname 2>/dev/null' >"$T/left"
	assert_eq "" "$(cat "$T/left")"
}

# A session whose layers lie on a disk of 24 MiB.
end_small() {
	OHS_STATE_DIR=$T/small ohs stop "$(jq -r .id <<<"$session")"
	OHS_STATE_DIR=$T/small ohs clean
	umount "$T/small"
}

test_on_a_full_disk_the_old_content_stays() {
	local big='("x" * 300000)'

	need root
	mkdir -m 700 "$T/small"
	mount -t tmpfs -o size=24m,mode=700 none "$T/small"
	session=$(OHS_STATE_DIR=$T/small ohs start --repo "$BASE/work/repo")
	trap end_small EXIT
	url() { jq -r .url <<<"$session"; }
	key() { jq -r .session_api_key <<<"$session"; }
	edit create /workspace/f '{file_text: "old\n"}'
	assert_contains "$(content)" "created successfully"
	sh_ 'cat /dev/zero >rest 2>/dev/null' >/dev/null
	edit str_replace /workspace/f "{old_str: \"old\", new_str: $big}"
	refused "Ran into [Errno 28] No space left on device: '/workspace/f' while trying to write to /workspace/f"
	do_action write "{path: \"f\", content: $big}"
	assert_contains "$seen" "[Errno 28] No space left on device: '/workspace/f'"
	edit create /workspace/g "{file_text: $big}"
	refused "Ran into [Errno 28] No space left on device: '/workspace/g' while trying to write to /workspace/g"
	assert_eq $'old\nno' "$(sh_ 'cat f; [ -e g ] || echo no')"
	edit undo_edit /workspace/f
	assert_contains "$(content)" "undone successfully"
}

test_requests_that_are_none_name_what_is_wrong() {
	do_action edit '{path: "/a", insert_line: 1.5}'
	assert_contains "$(jq -r .detail <<<"$seen")" "'insert_line' must be an integer"
	do_action edit '{path: "/a", impl_source: "llm_based_edit"}'
	assert_contains "$(jq -r .detail <<<"$seen")" "Internal server error: "
	do_action edit '{path: "/a\u0000b"}'
	assert_contains "$(jq -r .detail <<<"$seen")" "'path' is no path"
	edit view ""
	assert_contains "$(content)" "should be an absolute path"
	edit view "/$(printf 'x%.0s' $(seq 300))"
	assert_contains "$(content)" "[Errno 36] File name too long"
}
