#!/bin/bash
# SPDX-License-Identifier: MIT
# Cells of run_ipython in a persistent Python: without IPython, and with it where the host has it.

# One session finds no IPython, whatever is installed; the other what there is.
file_setup() {
	make_repo "$BASE/work/repo"
	cd "$BASE/work/repo" || return 1
	[ -x /usr/bin/python3 ] || skip "needs the program python3"
	as_me mkdir hide
	as_me tee hide/IPython.py <<<'raise ImportError' >/dev/null
	as_me git add hide
	as_me git commit -qm "hide IPython"
	ohs start --env PYTHONPATH=/workspace/hide >"$BASE/plain.json" || return 1
	kept "$(jq -r .id "$BASE/plain.json")"
	ohs start >"$BASE/full.json" || return 1
	kept "$(jq -r .id "$BASE/full.json")"
}

file_teardown() {
	ohs stop "$(jq -r .id "$BASE/plain.json")"
	ohs stop "$(jq -r .id "$BASE/full.json")"
}

session=plain
of() { jq -r ".$1" "$BASE/$session.json"; }
post() { curl -s -m 120 -H "X-Session-API-Key: $(of session_api_key)" -d "$1" "$(of url)/execute_action"; }

# cell CODE [TIMEOUT [MORE_ARGS]]: sets $seen to the observation.
cell() {
	seen=$(printf %s "$1" | jq -Rsc --argjson t "${2:-60.0}" --argjson more "${3:-{\}}" \
		'{action: {action: "run_ipython", args: ({code: ., include_extra: false} + $more), timeout: $t}}' | post @-)
}

sh_run() {
	local quoted

	quote "$1"
	post '{"action":{"action":"run","args":{"command":'"$quoted"'},"timeout":20.0}}' | jq -r .content
}

content() { jq -r .content <<<"$seen"; }

shows() { # CODE WANT
	cell "$1"
	assert_eq "$2" "$(content)"
}

need_ipython() {
	session=full
	cell 'get_ipython().__class__.__name__'
	[ "$(content)" = "'Shell'" ] || skip "needs IPython"
}

test_the_variables_of_a_client_that_connects_reach_later_cells() {
	cell $'import os\nos.environ["GREETING"] = "it\'s \\"me\\""\nos.environ["ENABLE_AUTO_LINT"] = "true"\n'
	assert_eq '{"message":"Code executed in IPython cell.","observation":"run_ipython","success":true}' \
		"$(jq -c '{message, observation, success}' <<<"$seen")"
	assert_eq "[Code executed successfully with no output]" "$(content)"
	shows 'os.environ["GREETING"]' "'it\\'s \"me\"'"
	shows '!echo $ENABLE_AUTO_LINT' true
}

test_an_observation_has_only_what_clients_know() {
	cell '6 * 7'
	assert_eq 'code,image_urls' "$(jq -r '.extras | keys | join(",")' <<<"$seen")"
	assert_eq 'action_id,content,extras,message,observation,success' "$(jq -r 'keys | join(",")' <<<"$seen")"
	assert_eq '6 * 7' "$(jq -r .extras.code <<<"$seen")"
	assert_eq null "$(jq -r .extras.image_urls <<<"$seen")"
	assert_eq 42 "$(content)"
}

test_the_directory_is_the_shells_until_a_cell_changes_it() {
	sh_run 'mkdir -p "/tmp/a b" && cd "/tmp/a b"'
	cell 'import os; os.getcwd()' 60.0 '{"include_extra": true}'
	assert_eq "'/tmp/a b'
[Jupyter current working directory: /tmp/a b]
[Jupyter Python interpreter: /usr/bin/python3]" "$(content)"
	shows 'os.chdir("/usr"); os.getcwd()' "'/usr'"
	shows 'os.getcwd()' "'/usr'"
	sh_run 'true'
	shows 'os.getcwd()' "'/usr'"
	sh_run 'cd /workspace'
	shows 'os.getcwd()' "'/workspace'"
	sh_run 'mkdir /tmp/gone && cd /tmp/gone && rmdir /tmp/gone'
	cell 'os.getcwd()'
	assert_contains "$(content)" "[The directory of the shell cannot be entered: "
	assert_contains "$(content)" "'/workspace'"
	sh_run 'cd /workspace'
}

test_what_a_cell_starts_is_heard_in_order() {
	shows $'import os, subprocess, sys, threading\nprint("a"); sys.stderr.write("b\\n"); os.system("echo c; echo d >&2")
t = threading.Thread(target=print, args="e"); t.start(); t.join()\nsubprocess.run(["echo", "f"])\nprint("g", flush=True); "h"' \
		$'a\nb\nc\nd\ne\nf\ng\n\'h\''
}

test_colours_and_blanks_at_the_end_are_gone() {
	shows 'print("\033[0;31mred\033[0m \033[38;5;28mgreen\033[0m  \n\n")' "red green"
}

test_an_error_is_shown_with_its_frames() {
	cell $'def f(x):\n    return 1 / x\nf(0)'
	assert_contains "$(content)" "ZeroDivisionError                         Traceback (most recent call last)"
	assert_contains "$(content)" "----> 3 f(0)"
	assert_contains "$(content)" "----> 2     return 1 / x"
	assert_eq "ZeroDivisionError: division by zero" "$(content | tail -n 1)"
	cell 'input("who? ")'
	assert_contains "$(content)" "StdinNotImplementedError"
}

test_images_are_data_urls() {
	cell $'import base64\nclass Dot:\n    def __repr__(self): return "<Dot>"\n    def _repr_png_(self): return base64.b64decode("iVBORw0KGgo=")\ndisplay(Dot())\nDot()'
	assert_eq $'<Dot>\n<Dot>' "$(content)"
	assert_eq '["data:image/png;base64,iVBORw0KGgo=","data:image/png;base64,iVBORw0KGgo="]' \
		"$(jq -c .extras.image_urls <<<"$seen")"
	shows '1' 1
}

# What a cell says before its time is over is not looked at here: how far it gets is the machine's to say.
timed_out() { # CODE SECONDS
	cell "$1" "$2"
	assert_eq "[Execution timed out ($2 seconds).]" "$(content | tail -n 1)"
}

test_a_cell_that_takes_too_long_is_interrupted_and_the_names_live_on() {
	cell 'import time; x = 7'
	timed_out 'time.sleep(1000)' 0.5
	timed_out 'while True: pass' 1.0
	timed_out '!sleep 1000' 0.5
	shows 'x' 7
}

# What the next cells do with an interrupt, from their first moment on.
interrupts_are() {
	cell "import signal; set_it = signal.signal; signal.signal = lambda *_: set_it(signal.SIGINT, signal.$1)"
}

test_one_that_does_not_obey_is_killed_and_a_new_one_started() {
	interrupts_are SIG_IGN
	cell 'while True: pass' 0.5
	assert_eq '[Execution timed out (0.5 seconds).]
[Python did not end the cell when interrupted, and was killed. The next cell runs in a new one, without the variables and imports of earlier cells.]' "$(content)"
	cell 'set_it'
	assert_contains "$(content)" "NameError: name 'set_it' is not defined"
	assert_eq 1 "$(sh_run 'pgrep -fc "^python3 -c exec.*<kernel>"')"
}

test_one_that_an_interrupt_kills_is_told_of_as_both() {
	interrupts_are SIG_DFL
	cell 'while True: pass' 0.5
	assert_eq '[Execution timed out (0.5 seconds).]
[Python has ended: killed by signal 2. The next cell runs in a new one, without the variables and imports of earlier cells.]' "$(content)"
}

test_one_that_has_died_is_started_again_and_that_is_said() {
	cell $'print("last words")\nimport os\nos._exit(3)'
	assert_eq $'last words\n[Python has ended: exit status 3. The next cell runs in a new one, without the variables and imports of earlier cells.]' "$(content)"
	shows 'y = 1; y' 1
	sh_run 'pkill -9 -f "<kernel>"'
	shows '"there"' $'\'there\'\n[Python had ended: killed by signal 9. This cell ran in a new one, without the variables and imports of earlier cells.]'
	shows '"and well"' "'and well'"
	cell 'exit()'
	assert_contains "$(content)" "[Python has ended: exit status 0."
}

test_code_for_a_fresh_python_runs_once() {
	cell 'exit()'
	cell 'n' 60.0 '{"kernel_init_code": "n = 1"}'
	assert_eq 1 "$(content)"
	cell 'n += 1; n' 60.0 '{"kernel_init_code": "n = 1"}'
	assert_eq 2 "$(content)"
}

test_without_a_python_there_is_an_error_observation() {
	local id

	session=none
	ohs start --empty --env PATH=/nowhere >"$BASE/none.json"
	id=$(of id)
	cell '1'
	ohs stop "$id"
	assert_eq '{"error_id":""}' "$(jq -c .extras <<<"$seen")"
	assert_eq error "$(jq -r .observation <<<"$seen")"
	assert_eq "IPython is not available in this session: there is no python3 in its PATH." "$(content)"
}

test_a_cell_that_exhausts_the_memory_dies_alone() {
	need controller memory
	session=small
	ohs start --empty --memory 256M >"$BASE/small.json"
	sh_run 'A=1' >/dev/null
	cell $'import os\nx = []\nwhile True: x.append(bytearray(os.urandom(1 << 20)))'
	assert_contains "$(content)" "[Python has ended: killed by signal 9. The next cell runs in a new one"
	shows '"well"' "'well'"
	assert_eq "A=1" "$(sh_run 'echo A=$A')"
	ohs stop "$(of id)"
}

test_modules_of_the_workspace_take_the_place_of_none_of_ours() {
	sh_run 'mkdir -p /tmp/shadow && cd /tmp/shadow && for m in ast io signal select threading traceback subprocess shlex asyncio; do echo "raise SystemExit" >$m.py; done'
	cell 'exit()'
	shows $'import os\nos.getcwd(), 1/1' "('/tmp/shadow', 1.0)"
	cell '1/0'
	assert_contains "$(content)" ZeroDivisionError
	sh_run 'cd /workspace; rm -r /tmp/shadow'
}

test_any_text_arrives() {
	local i

	cell "x = '$(head -c 2000000 /dev/zero | tr '\0' 'x')'; len(x)"
	assert_eq 2000000 "$(content)"
	shows $'"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", len("\xf0\x9f\x98\x80")' $'(\'\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\', 1)'
	seen=$(post '{"action":{"action":"run_ipython","args":{"code":"1\u0000","include_extra":false}}}')
	assert_contains "$(content)" "null bytes"
	cell $'import sys\nsys.stdout.buffer.write(b"\\xff\\xfe|")'
	assert_eq $'\xef\xbf\xbd\xef\xbf\xbd|3' "$(content)"
	for i in '' ' ' '#' 'pass' ')' 'if' '%' '!' '%%' '?' $'\t1' '"'; do
		cell "$i"
		assert_eq run_ipython "$(jq -r .observation <<<"$seen")"
	done
	shows '"well"' "'well'"
}

test_much_output_is_bounded_and_keeps_its_ends() {
	cell $'print("first")\nfor i in range(200): print("x" * 100000)\nprint("last")' 60.0
	assert_eq first "$(content | head -n 1)"
	assert_eq last "$(content | tail -n 1)"
	assert_contains "$(content)" "[... Observation truncated due to length ...]"
	[ "$(content | wc -c)" -lt 1100000 ] || fail "$(content | wc -c) bytes"
	cell $'import subprocess\np = subprocess.Popen(["yes"])'
	cell $'p.kill(); p.wait(); print("gone")'
	assert_contains "$(content)" gone
}

channel='import os, stat
channel = [n for n in range(3, 50) if os.path.exists("/proc/self/fd/%d" % n) and stat.S_ISSOCK(os.fstat(n).st_mode)][0]
'

test_whatever_a_cell_does_to_the_channel_the_session_lives_on() {
	cell "${channel}os.write(channel, b'nonsense'); import time; time.sleep(1000)" 30.0
	assert_contains "$(content)" "[Python has ended: a cell closed or garbled its channel to the executor."
	cell "${channel}os.close(channel); import time; time.sleep(1000)" 30.0
	assert_contains "$(content)" "[Python has ended: a cell closed or garbled its channel to the executor."
	cell "${channel}"$'for i in range(100000): os.write(channel, b"d\\0\\0\\0\\4\\0\\0\\0\\0")' 60.0
	assert_eq "[Code executed successfully with no output]" "$(content)"
	cell "${channel}"$'while True: os.write(channel, b"d\\0\\0\\0\\4\\0\\0\\0\\0" * 1000)' 1.0
	assert_contains "$(content)" "[Execution timed out (1.0 seconds)."
	cell "${channel}"$'for i in range(100): os.write(channel, b"i\\0\\0\\0\\1x")' 60.0
	assert_contains "$(content)" "[68 more images are not shown: "
	assert_eq 32 "$(jq '.extras.image_urls | length' <<<"$seen")"
	cell 'os.closerange(0, 1000); import time; time.sleep(1000)' 30.0
	assert_contains "$(content)" "[Python has ended: "
	shows '"well"' "'well'"
	assert_eq '{"status":"ok"}' "$(curl -s "$(of url)/alive")"
	assert_eq well "$(sh_run 'echo well')"
}

test_a_cell_holds_no_descriptor_but_its_own() {
	cell $'import os\nfor n in sorted(map(int, os.listdir("/proc/self/fd")))[:-1]: print(n, os.readlink("/proc/self/fd/%d" % n).split(":")[0])'
	assert_eq $'0 /dev/null\n1 pipe\n2 pipe\n3 socket\n4 pipe' "$(content)"
	cell $'!ls /proc/self/fd | tr "\\n" " "'
	assert_eq '0 1 2 3' "$(content)"
}

test_a_client_that_goes_away_leaves_its_cell_to_be_done() {
	local body

	cell 'import time; z = 0'
	body='{"action":{"action":"run_ipython","args":{"code":"time.sleep(0.5); z = 2"}}}'
	exec 9<>"/dev/tcp/127.0.0.1/$(of url | sed 's/.*://')"
	printf 'POST /execute_action HTTP/1.1\r\nHost: x\r\nX-Session-API-Key: %s\r\nContent-Length: %d\r\n\r\n%s' \
		"$(of session_api_key)" ${#body} "$body" >&9
	exec 9>&-
	sh_run true # by its answer the first one has been taken
	shows z 2
}

test_cells_run_as_the_shell_does() {
	local who

	who=$(sh_run 'echo $(id -u) $(id -g) $HOME')
	shows '!echo $(id -u) $(id -g) $HOME' "$who"
	shows '"NoNewPrivs:\t1" in open("/proc/self/status").read()' True
}

test_browsing_is_answered_as_without_a_browser() {
	local body

	for body in '"browse","args":{"url":"http://localhost"}' '"browse_interactive","args":{"browser_actions":"noop()"}'; do
		seen=$(post "{\"action\":{\"action\":$body}}")
		assert_eq '{"content":"Browser functionality is not supported or disabled.","extras":{"error_id":""},"observation":"error"}' \
			"$(jq -cS '{observation, content, extras}' <<<"$seen")"
	done
}

test_ipython_runs_cells_where_it_is_there() {
	need_ipython
	shows $'v = "a b"\n!echo {v} $v' 'a b a b'
	shows $'x = !echo one; echo two\nx' "['one', 'two']"
	shows $'%%bash\necho $((6 * 7))' 42
	shows '%cd /usr' /usr
	shows '_exit_code = 5; _exit_code;' "[Code executed successfully with no output]"
	shows '{i: "x" * 30 for i in range(3)}' $'{0: \'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\',\n 1: \'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\',\n 2: \'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\'}'
	shows $'import asyncio\nawait asyncio.sleep(0, "done")' "'done'"
	cell $'def f(x):\n    return 1 / x\nf(0)'
	assert_contains "$(content)" "----> 3 f(0)"
	assert_not_contains "$(content)" $'\033'
	assert_eq "ZeroDivisionError: division by zero" "$(content | tail -n 1)"
	cell 'input()'
	assert_contains "$(content)" "StdinNotImplementedError: raw_input was called"
	cell '1 +'
	assert_contains "$(content)" "SyntaxError: invalid syntax"
}

test_ipython_shows_images_and_obeys_interrupts() {
	need_ipython
	cell $'from IPython.display import Image, display\ndisplay(Image(b"\\x89PNG\\r\\n\\x1a\\n"))\n"text"'
	assert_eq $'<IPython.core.display.Image object>\n\'text\'' "$(content)"
	assert_eq '["data:image/png;base64,iVBORw0KGgo="]' "$(jq -c .extras.image_urls <<<"$seen")"
	cell 'import time'
	timed_out 'time.sleep(1000)' 0.5
	timed_out '!sleep 1000' 0.5
	shows '"well"' "'well'"
	cell 'exit()'
	assert_contains "$(content)" "[Python has ended: exit status 0."
	shows '"well"' "'well'"
}

test_plots_are_shown() {
	session=full
	cell 'import matplotlib'
	[ "$(content)" = "[Code executed successfully with no output]" ] || skip "needs matplotlib"
	cell $'import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()\nprint("behind")'
	assert_eq $'<Figure size 640x480 with 1 Axes>\nbehind' "$(content)"
	cell $'plt.plot([1, 2]);'
	assert_eq '<Figure size 640x480 with 1 Axes>' "$(content)"
	assert_eq iVBORw0KGgo "$(jq -r '.extras.image_urls[0]' <<<"$seen" | cut -c 23-33)"
}
