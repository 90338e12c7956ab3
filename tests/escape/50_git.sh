# Rows of table 4: what a session plants must do nothing on the host.
# shellcheck shell=bash disable=SC2034
. "$OHS_SRC/tests/escape/attack.sh"

file_setup() { escape_setup; }

fingerprint() { (cd "$1" && find . -path ./.git/worktrees -prune -o -type f -print0 | sort -z | xargs -0 sha256sum); }

# G1: hooks.
test_planted_hooks_never_run_on_the_host() {
	make_repo "$T/repo"
	local before hook
	before=$(fingerprint "$T/repo")
	run ohs run --quiet --repo "$T/repo" -- sh -c '
		for h in applypatch-msg commit-msg post-applypatch post-checkout post-commit post-index-change post-merge post-rewrite \
			pre-applypatch pre-auto-gc pre-commit pre-merge-commit prepare-commit-msg pre-push pre-rebase reference-transaction \
			fsmonitor-watchman sendemail-validate update; do
			printf "#!/bin/sh\ntouch %s/canary\n" "$0" >.git/hooks/$h && chmod 755 .git/hooks/$h
		done; ls .git/hooks | wc -l' "$T"
	assert_status 0
	assert_eq "$before" "$(fingerprint "$T/repo")" "the repository"
	as_me sh -ec 'cd "$0"; git commit -q --allow-empty -m x; git checkout -q -b other; git checkout -q -; git merge -q other; git gc -q' "$T/repo"
	assert_no_file "$T/canary"
	# Control: a hook that is really there does run.
	as_me sh -ec 'printf "#!/bin/sh\ntouch %s/canary\n" "$1" >"$0/.git/hooks/post-commit"; chmod 755 "$0/.git/hooks/post-commit"; cd "$0"; git commit -q --allow-empty -m y' "$T/repo" "$T"
	assert_file "$T/canary"
}

# G2: configuration keys that run programs.
test_planted_configuration_never_acts_on_the_host() {
	make_repo "$T/repo"
	run ohs run --keep --quiet --json --repo "$T/repo" -- sh -c '
		for k in core.fsmonitor core.hooksPath core.sshCommand core.pager core.editor diff.external credential.helper gpg.program \
			alias.status filter.x.clean filter.x.smudge diff.x.textconv diff.x.command merge.x.driver uploadpack.packObjectsHook; do
			git config "$k" "touch $0/canary"
		done
		echo "* filter=x diff=x merge=x" >.gitattributes; echo changed >>README; git add -A; git commit -qm planted || true' "$T"
	assert_status 0
	local id
	id=$(printf '%s\n' "$err" | grep '^{' | jq -r .id)
	kept "$id"
	run ohs diff "$id"
	assert_status 0
	assert_contains "$out" ".gitattributes"
	run ohs diff "$id" --patch
	run ohs diff "$id" --stat
	run as_me git -C "$T/repo" status
	run as_me git -C "$T/repo" log -p
	assert_no_file "$T/canary"
	ohs stop "$id" >/dev/null
	# Control: plain git over the same configuration acts.
	as_me sh -c 'cd "$0"; git config core.fsmonitor "touch $1/canary"; git status >/dev/null 2>&1' "$T/repo" "$T"
	assert_file "$T/canary"
}

# Filters of the host's configuration must not run when a base is laid.
test_filters_of_the_hosts_configuration_never_run() {
	make_repo "$T/repo"
	as_me sh -ec 'cd "$0"; echo "* filter=x" >.gitattributes; git add -A; git commit -qm attributes
		git config filter.x.smudge "sh -c \"touch $1/canary; cat\""' "$T/repo" "$T"
	run ohs run --quiet --repo "$T/repo" -- cat README
	assert_status 0
	assert_no_file "$T/canary"
	as_me sh -c 'cd "$0"; rm README; git checkout -q README' "$T/repo"
	assert_file "$T/canary"
}

# G4: alternates that lead out of the session.
test_alternates_of_a_session_reach_nothing_of_the_host() {
	make_repo "$T/secret"
	as_me sh -ec 'cd "$0"; echo topsecret >s; git add s; git commit -qm secret' "$T/secret"
	local object
	object=$(as_me git -C "$T/secret" rev-parse HEAD:s)
	session openhands sh -c "echo $T/secret/.git/objects >>.git/objects/info/alternates; git cat-file -p $object"
	[ "$status" -ne 0 ] || fail "an object of another repository was read"
	assert_not_contains "$out" topsecret
	control as_me sh -c 'git init -q "$1" && echo "$0/.git/objects" >"$1/.git/objects/info/alternates" && git -C "$1" cat-file -p "$2" | grep -q topsecret' \
		"$T/secret" "$T/clone" "$object"
}

# G4 the other way round: a repository out of a foreign archive names what is to be shown.
test_borrowed_objects_show_no_other_directory_of_the_owner() {
	make_repo "$T/repo"
	make_repo "$T/lender"
	as_me sh -ec 'mkdir -p keys; echo PRIVATE >keys/id; ln -s keys objects
		echo "$0/keys" >repo/.git/objects/info/alternates' "$T"
	run ohs run --quiet --repo "$T/repo" -- sh -c 'cat /run/ohsandbox/objects/*/id'
	assert_status 125
	assert_contains "$err" "$T/keys"
	assert_not_contains "$out" PRIVATE
	as_me sh -ec 'echo "$0/objects" >repo/.git/objects/info/alternates' "$T"
	run ohs run --quiet --repo "$T/repo" -- sh -c 'cat /run/ohsandbox/objects/*/id'
	assert_status 125
	assert_not_contains "$out" PRIVATE
	as_me sh -ec 'rm repo/.git/objects/info/alternates; mv repo/.git/objects repo/.git/own
		cp -a repo/.git/own/. keys/; ln -s ../../keys repo/.git/objects' "$T"
	run ohs run --quiet --repo "$T/repo" -- sh -c 'cat /run/ohsandbox/objects/*/id'
	assert_status 125
	assert_not_contains "$out" PRIVATE
	# Control: what is really borrowed can be read.
	as_me sh -ec 'rm repo/.git/objects; mv repo/.git/own repo/.git/objects
		echo "$0/lender/.git/objects" >repo/.git/objects/info/alternates' "$T"
	run ohs run --quiet --repo "$T/repo" -- sh -c "git cat-file -p $(as_me git -C "$T/lender" rev-parse HEAD)"
	assert_status 0
	assert_contains "$out" second
}

test_a_patch_on_a_terminal_commands_nothing() {
	need cmd script
	local id
	run ohs run --keep --json --repo "$BASE/work/repo" -- sh -c 'printf "\033]52;c;ZXZpbA==\a\n" >>README'
	id=$(printf '%s\n' "$err" | sed -n 's/^{"id":"\([0-9a-f]*\)".*/\1/p')
	kept "$id"
	run as_me script -qec "$STAGE/bin/ohsandbox diff --patch $id" /dev/null
	assert_contains "$out" '+^[]52;c;ZXZpbA==^G'
	assert_not_contains "$out" $'\033'
	# Control: a file gets it as it is, or the patch would not apply.
	run ohs diff --patch "$id"
	assert_contains "$out" $'+\033]52;c;ZXZpbA==\a'
}

# G5: refs of the host stay what they are.
test_refs_of_the_host_are_byte_identical_after_hostile_ones() {
	make_repo "$T/repo"
	local before
	before=$(as_me git -C "$T/repo" for-each-ref; cat "$T/repo/.git/HEAD")
	run ohs run --quiet --repo "$T/repo" -- sh -c '
		git checkout -q -b evil; echo x >x; git add x; git commit -qm evil; git branch -f main; git tag v1
		git symbolic-ref refs/heads/loop refs/heads/loop; echo "ref: ../../../etc/passwd" >.git/refs/heads/out; git update-ref -d refs/heads/evil; true'
	assert_eq "$before" "$(as_me git -C "$T/repo" for-each-ref; cat "$T/repo/.git/HEAD")" "refs of the host"
	control as_me sh -c 'cd "$0" && git branch moved && git for-each-ref | grep -q moved' "$T/repo"
}

# G7: no safe.directory tricks, as both users.
test_git_works_inside_as_both_users_without_safe_directory() {
	for U in openhands root; do
		session "$U" sh -c 'git status --short && git config --get-all safe.directory; git log --oneline | wc -l'
		assert_status 0
		assert_eq 2 "$(echo "$out" | tail -n 1)" "commits seen as $U"
		assert_not_contains "$err" dubious
	done
}

# G9: files a host tool would run later.
test_planted_files_of_host_tools_do_not_reach_the_host() {
	make_repo "$T/repo"
	local before
	before=$(fingerprint "$T/repo")
	run ohs run --quiet --repo "$T/repo" -- sh -c '
		mkdir -p .vscode .claude .codex .github/workflows .idea .husky
		for f in .vscode/tasks.json .claude/settings.json .codex/config.toml .envrc pyvenv.cfg Makefile package.json .github/workflows/x.yml conftest.py; do
			echo "touch canary" >$f
		done'
	assert_status 0
	assert_eq "$before" "$(fingerprint "$T/repo")" "the host tree"
	control as_me sh -c 'echo x >"$0/.envrc" && [ -e "$0/.envrc" ]' "$T/repo"
}
