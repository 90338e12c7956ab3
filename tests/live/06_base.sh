# SPDX-License-Identifier: MIT
# The shared base of a commit and the private git directory over it, looked at as a session does:
# through an overlay, with the objects mounted. Every special kind of repository git knows.
# as: root user

file_setup() {
	as_me mkdir -p bin
	cp "$OHS_BUILD/tests/live/base_demo" "$OHS_BUILD/ohsandbox-git" bin/
	as_me mkdir -m 700 state
}

B=$BASE/work

demo() { as_me "$B/bin/base_demo" --state "$S" "$@"; }

base() { # REPO [OPTIONS]: find or make its base; what it is made of is in $T/base
	demo --repo "$@" >"$T/base"
}

lowers() { sed -n 's/^layer //p' "$T/base" | paste -sd:; }
commit() { sed -n 's/^commit //p' "$T/base"; }

# Run a command in the workspace of a session on the base in $T/base. $V keeps the upper layer.
inside() {
	local V=${V:-$T/v} enter=(unshare -m)

	[ "$OHS_AS" = root ] || enter=(unshare -Urm)
	as_me mkdir -p "$V/upper" "$V/work" "$V/ws"
	export GIT_CONFIG_GLOBAL=/dev/null
	as_me "${enter[@]}" bash -ec '
		V=$1 lowers=$2 base=$3 xattr=$4
		shift 4
		objects=$(sed -n "s/^objects //p" "$base")
		mkdir -p "$V/objects" && n=0
		while read -r dir; do
			mkdir -p "$V/objects/$n"
			mount --bind "$dir" "$V/objects/$n"
			n=$((n + 1))
		done <<<"$objects"
		mount -t overlay -o "lowerdir=$lowers,upperdir=$V/upper,workdir=$V/work$xattr" ws "$V/ws"
		mount -t tmpfs run /run
		mkdir -p /run/ohsandbox/objects
		mount --rbind "$V/objects" /run/ohsandbox/objects
		cd "$V/ws"
		"$@"
	' inside "$V" "$(lowers)" "$T/base" "$([ "$OHS_AS" = root ] || echo ,userxattr)" "$@"
}

# The workspace is exactly what the commit holds, and git knows it without reading a file.
is_clean() { # REPO REV
	assert_eq "" "$(inside git status --porcelain)" "git status inside"
	assert_eq "" "$(inside git ls-files -m -d -o)" "changed, missing and new files"
	inside git fsck --connectivity-only --no-dangling 2>&1 | grep -v '^notice' && fail "git fsck complains"
	as_me rm -rf "$T/want" "$T/got"
	as_me mkdir "$T/want" "$T/got"
	as_me git -C "$1" -c tar.umask=022 -c core.autocrlf=false archive "$2" | as_me tar -x -C "$T/want"
	inside bash -c 'tar -c --exclude=./.git . | tar -x -C "$1"' - "$T/got"
	as_me diff -r --no-dereference "$T/want" "$T/got" || fail "the files differ"
	(cd "$T/want" && find . -printf '%p %y %m %l\n' | sed 's/ d [0-9]*/ d/' | sort) >"$T/want.list"
	(cd "$T/got" && find . -printf '%p %y %m %l\n' | sed 's/ d [0-9]*/ d/' | sort) >"$T/got.list"
	diff "$T/want.list" "$T/got.list" || fail "modes or links differ"
}

new_state() {
	S=$T/state
	as_me mkdir -m 700 "$S"
}

# A script in a directory, as the identity that owns it.
in_dir() { # DIR SCRIPT
	as_me mkdir -p "$1"
	as_me env GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=T GIT_AUTHOR_EMAIL=t@e GIT_COMMITTER_NAME=T \
		GIT_COMMITTER_EMAIL=t@e T="$T" bash -ec "cd '$1'; $2"
}

test_base_is_made_once_and_then_found_without_a_process() {
	new_state
	make_repo "$T/repo"
	base "$T/repo"
	assert_match "$(head -n 1 "$T/base")" ^made
	base "$T/repo"
	assert_match "$(head -n 1 "$T/base")" ^found
	mv "$B/bin/ohsandbox-git" "$B/bin/away"
	run demo --repo "$T/repo"
	mv "$B/bin/away" "$B/bin/ohsandbox-git"
	assert_status 0
	is_clean "$T/repo" HEAD
}

test_names_modes_links_and_line_ends_are_those_of_the_commit() {
	new_state
	in_dir "$T/repo" '
		git init -q -b main
		ln -s README link; ln -s /etc/passwd outside; ln -s nowhere dangling
		printf "%s" body >README; printf "#!/bin/sh\n" >run.sh; chmod 755 run.sh
		printf x >"sp ace"; printf x >"quo\"te"; printf x >$'"'"'\xff\xfe\n'"'"'; mkdir -p a/b/c; : >a/b/c/empty
		printf "*.dos text eol=crlf\n*.txt text\n" >.gitattributes
		printf "one\ntwo\n" >x.dos; printf "one\ntwo\n" >x.txt
		git add -A; git commit -qm all
		git config core.autocrlf true'
	base "$T/repo"
	is_clean "$T/repo" HEAD
	assert_eq "one.two." "$(inside cat x.dos | tr '\r' . | tr -d '\n')" "line ends"
}

test_filters_hooks_and_monitors_of_the_repository_never_run() {
	new_state
	in_dir "$T/repo" '
		git init -q -b main
		printf "* filter=evil diff=evil\n" >.gitattributes; echo data >file
		printf "version https://git-lfs.github.com/spec/v1\noid sha256:%064d\nsize 3\n" 0 >big.bin
		git add -A; git commit -qm all
		for key in filter.evil.smudge filter.evil.clean filter.evil.process core.fsmonitor diff.evil.textconv \
			diff.external core.sshCommand core.editor credential.helper; do
			git config "$key" "touch $T/canary; cat"
		done
		git config filter.evil.required true
		git config core.hooksPath "$T/hooks"; mkdir "$T/hooks"
		for hook in post-checkout pre-commit post-index-change reference-transaction; do
			printf "#!/bin/sh\ntouch $T/canary\n" >"$T/hooks/$hook"; chmod 755 "$T/hooks/$hook"
		done
		echo changed >file'
	base "$T/repo" --dirty "$(as_me mktemp -d "$T/upperXXX")"
	base "$T/repo" --reachable
	base "$T/repo" --rev HEAD~0
	assert_no_file "$T/canary"
	inside git status --porcelain
	inside git -c user.name=x -c user.email=x@y commit -q --allow-empty -m inside
	assert_no_file "$T/canary"
	assert_eq "" "$(inside git config -l | grep -iE 'evil|hook|fsmonitor|external|ssh|editor|credential')"
	assert_contains "$(inside cat big.bin)" "git-lfs"
	# The negative control: git itself runs them.
	as_me git -C "$T/repo" status >/dev/null 2>&1 || true
	assert_file "$T/canary"
}

test_config_inside_holds_remotes_and_identity_but_no_secret() {
	new_state
	make_repo "$T/repo"
	in_dir "$T/repo" '
		git remote add origin https://user:s3cret@example.org/x.git
		git remote add deploy ssh://git:s3cret@example.org/y.git
		git remote add plain git@example.org:z.git
		git config http.https://example.org.extraHeader "Authorization: s3cret"
		git update-ref refs/remotes/origin/main HEAD
		git symbolic-ref refs/remotes/origin/HEAD refs/remotes/origin/main
		git config branch.main.remote origin; git config branch.main.merge refs/heads/main
		git tag -a -m note v1; git tag light'
	base "$T/repo"
	assert_eq https://example.org/x.git "$(inside git remote get-url origin)"
	assert_eq ssh://git@example.org/y.git "$(inside git remote get-url deploy)"
	assert_eq git@example.org:z.git "$(inside git remote get-url plain)"
	assert_eq "" "$(as_me grep -r s3cret "$S" || true)" "secrets in the base"
	assert_eq Tester "$(inside git config user.name)"
	assert_eq origin/main "$(inside git rev-parse --abbrev-ref '@{u}')"
	assert_eq origin/main "$(inside git rev-parse --abbrev-ref origin/HEAD)"
	assert_eq "$(as_me git -C "$T/repo" show-ref -d)" "$(inside git show-ref -d)" references
	assert_eq refs/heads/main "$(inside git symbolic-ref HEAD)"
	in_dir "$T/repo" 'git config --unset user.name; git config --unset user.email'
	base "$T/repo"
	assert_eq "Host User" "$(inside git config user.name)"
}

test_git_works_inside_and_the_repository_stays_as_it_was() {
	new_state
	make_repo "$T/repo"
	base "$T/repo"
	find "$T/repo" ! -path '*/worktrees*' -printf '%p %s %m %T@ %C@\n' | sort >"$T/before"
	inside bash -ec '
		echo x >>README; git commit -qam inside; git branch topic; git mv README README.md; git stash -q
		git checkout -q topic; git log --oneline | wc -l; git gc -q; git fsck --no-dangling' >"$T/out"
	assert_eq 3 "$(head -n 1 "$T/out")"
	assert_eq "" "$(inside git status --porcelain)"
	find "$T/repo" ! -path '*/worktrees*' -printf '%p %s %m %T@ %C@\n' | sort >"$T/after"
	diff "$T/before" "$T/after" || fail "the repository was written"
	V=$T/v2 is_clean "$T/repo" HEAD
}

test_base_is_registered_locked_and_detached_and_survives_gc() {
	new_state
	make_repo "$T/repo"
	base "$T/repo" --rev HEAD~1
	assert_contains "$(as_me git -C "$T/repo" worktree list --porcelain)" detached
	assert_contains "$(as_me git -C "$T/repo" worktree list --porcelain)" locked
	assert_eq main "$(as_me git -C "$T/repo" branch --format='%(refname:short)')" branches
	in_dir "$T/repo" 'git checkout -q --orphan new; git commit -qm new; git branch -qD main
		git reflog expire --expire=now --all; git worktree prune; git gc -q --prune=now'
	as_me git -C "$T/repo" cat-file -e "$(commit)" || fail "the commit of the base is gone"
	base "$T/repo" --rev "$(commit)"
	is_clean "$T/repo" "$(commit)"
}

test_revision_other_than_head_is_detached() {
	new_state
	make_repo "$T/repo"
	in_dir "$T/repo" 'git tag -a -m note v1 HEAD~1; git branch topic HEAD~1; git branch -q v1.x'
	for rev in HEAD~1 v1 topic refs/heads/topic "$(as_me git -C "$T/repo" rev-parse --short HEAD~1)" \
		"$(as_me git -C "$T/repo" rev-parse HEAD~1)" "$(as_me git -C "$T/repo" rev-parse v1)" ":/first"; do
		base "$T/repo" --rev "$rev"
		assert_eq "$(as_me git -C "$T/repo" rev-parse HEAD~1)" "$(commit)" "revision '$rev'"
	done
	run inside git symbolic-ref -q HEAD
	assert_status 1
	is_clean "$T/repo" HEAD~1
}

test_what_does_not_exist_is_named() {
	new_state
	make_repo "$T/repo"
	run demo --repo "$T/repo" --rev nonsense
	assert_status 1
	assert_contains "$err" "'$T/repo' has no revision 'nonsense'"
	run demo --repo "$T/repo" --rev 0123456789012345678901234567890123456789
	assert_status 1
	assert_contains "$err" "has no revision '0123456789012345678901234567890123456789'"
	run demo --repo "$T/repo" --rev 'HEAD^{tree}'
	assert_status 1
	assert_contains "$err" "is no commit"
	as_me mkdir "$T/plain"
	run demo --repo "$T/plain"
	assert_status 1
	assert_contains "$err" "'$T/plain' is not a git repository: name one with --repo"
}

test_repository_of_somebody_else_is_refused_but_for_root_or_trust() {
	new_state
	as_root mkdir "$T/theirs" 2>/dev/null || as_me mkdir "$T/theirs"
	[ "$(id -u)" -eq 0 ] || skip "needs root to make one"
	cp -r "$B/bin" "$T/"
	chown 34567 "$T/theirs"
	setpriv --reuid 34567 --clear-groups env HOME=/nonexistent GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=T GIT_AUTHOR_EMAIL=t@e \
		GIT_COMMITTER_NAME=T GIT_COMMITTER_EMAIL=t@e bash -ec 'cd "$1"; git init -q -b main; echo x >f; git add f; git commit -qm f' - "$T/theirs"
	run demo --repo "$T/theirs"
	if [ "$OHS_AS" = root ]; then
		assert_status 0
		assert_contains "$out" "owner 34567:65534"
		assert_eq "" "$(find "$T/theirs" ! -uid 34567)" "not the owner's in the repository"
		assert_eq "" "$(find "$S"/base/*/*/tree "$S"/base/*/*/git-*/layer ! -uid 34567)" "not the owner's in the base"
	else
		assert_status 1
		assert_contains "$err" "belongs to uid 34567, not to you: if you trust it, add --trust-repo"
		run demo --repo "$T/theirs" --trust
		assert_status 0
		assert_contains "$err" "cannot be written, so the base is not registered"
	fi
}

test_root_reads_a_repository_with_its_owners_rights_alone() {
	need root
	new_state
	mkdir -m 700 "$T/secret"
	make_repo "$T/secret/repo"
	mkdir "$T/trap"
	ln -s "$T/secret/repo/.git" "$T/trap/.git"
	chown -h 34567 "$T/trap" "$T/trap/.git"
	run demo --repo "$T/trap"
	assert_status 1
	assert_contains "$err" "Permission denied"
	rm "$T/trap/.git"
	echo "gitdir: $T/secret/repo/.git" >"$T/trap/.git"
	chown 34567 "$T/trap/.git"
	run demo --repo "$T/trap"
	assert_status 1
	assert_contains "$err" "Permission denied"
	# Borrowed objects: a place that the owner may not enter is passed over, as if it were not there.
	rm "$T/trap/.git"
	chown root "$T/trap"
	make_repo "$T/trap"
	echo "$T/secret/repo/.git/objects" >"$T/trap/.git/objects/info/alternates"
	chown -R 34567 "$T/trap"
	run demo --repo "$T/trap"
	assert_status 0
	assert_not_contains "$out" secret
	assert_eq 0 "$(id -u)"
}

test_unborn_repository_gives_an_empty_workspace() {
	new_state
	in_dir "$T/repo" 'git init -q -b trunk'
	base "$T/repo"
	base "$T/repo"
	assert_match "$(head -n 1 "$T/base")" ^found
	assert_eq trunk "$(inside git symbolic-ref --short HEAD)"
	inside bash -ec 'echo x >f; git add f; git -c user.name=x -c user.email=x@y commit -qm first; git status --porcelain'
	assert_eq 1 "$(inside git rev-list --count HEAD)"
}

test_linked_and_bare_repositories_and_borrowed_objects_work() {
	new_state
	make_repo "$T/one"
	in_dir "$T" 'git -C one worktree add -q ../two -b side; git -C two commit -q --allow-empty -m side
		git -C two worktree add -q ../three; git clone -q --bare one bare.git; git clone -q --shared one shared
		git clone -q --shared shared again; git clone -q --reference one one ref'
	for repo in two three bare.git shared again ref; do
		base "$T/$repo"
		V=$T/v-$repo is_clean "$T/$repo" HEAD
		assert_eq "$(as_me git -C "$T/$repo" rev-list --count HEAD)" "$(V=$T/v-$repo inside git rev-list --count HEAD 2>&1)" "history of $repo"
	done
	base "$T/again"
	assert_eq 3 "$(grep -c ^objects "$T/base")" "object directories"
	assert_eq "" "$(V=$T/v-again inside git log 2>&1 | grep -i 'error')"
}

test_sparse_and_shallow_clones_work() {
	new_state
	make_repo "$T/one"
	in_dir "$T" 'git clone -q --depth 1 "file://$T/one" shallow; git clone -q --sparse one sparse'
	for repo in shallow sparse; do
		base "$T/$repo"
		V=$T/v-$repo is_clean "$T/$repo" HEAD
	done
	base "$T/shallow"
	assert_eq 1 "$(V=$T/v-shallow inside git rev-list --count HEAD)"
}

test_partial_clone_leaves_out_what_it_does_not_have() {
	new_state
	make_repo "$T/one"
	in_dir "$T/one" 'git config uploadpack.allowFilter true; git config uploadpack.allowAnySHA1InWant true'
	in_dir "$T" 'git clone -q --no-checkout --filter=blob:none "file://$T/one" part
		cd part; git sparse-checkout set --no-cone /README; git checkout -q main'
	run demo --repo "$T/part"
	assert_status 0
	assert_contains "$err" "2 files are left out: this partial clone does not have them"
	base "$T/part"
	assert_eq "" "$(inside git status --porcelain)"
	assert_eq hello "$(inside head -n 1 README)"
	assert_eq 2 "$(inside git rev-list --count HEAD)"
}

test_sha256_repository_works_through_git_itself() {
	new_state
	in_dir "$T/repo" 'git init -q -b main --object-format=sha256; mkdir d; echo x >d/f; ln -s d l; echo y >g; git add -A
		git commit -qm one; echo z >>g; git commit -qam two; git tag -a -m note v1'
	base "$T/repo"
	is_clean "$T/repo" HEAD
	assert_eq 2 "$(inside git rev-list --count HEAD)"
	base "$T/repo" --rev v1~1
	V=$T/v2 is_clean "$T/repo" HEAD~1
	base "$T/repo" --reachable
	V=$T/v3 is_clean "$T/repo" HEAD
}

test_extensions_libgit2_does_not_know_do_not_matter() {
	new_state
	make_repo "$T/repo"
	in_dir "$T/repo" 'git config core.repositoryformatversion 1; git config extensions.preciousObjects true'
	base "$T/repo"
	is_clean "$T/repo" HEAD
	base "$T/repo" --rev HEAD~1
	assert_eq "$(as_me git -C "$T/repo" rev-parse HEAD~1)" "$(commit)"
	# One that git does not know either: what is read without it works, the rest is refused by name.
	in_dir "$T/repo" 'git config extensions.relativeWorktrees true'
	base "$T/repo"
	run demo --repo "$T/repo" --rev HEAD~1
	assert_status 1
	assert_contains "$err" "$T/repo"
}

test_submodule_is_an_empty_directory_and_is_named() {
	new_state
	make_repo "$T/sub"
	make_repo "$T/repo"
	in_dir "$T/repo" 'git -c protocol.file.allow=always submodule --quiet add "$T/sub" lib/sub; git commit -qm sub'
	run demo --repo "$T/repo"
	assert_status 0
	assert_contains "$err" "submodule 'lib/sub' is left empty"
	base "$T/repo"
	assert_eq "" "$(inside git status --porcelain)"
	assert_eq "" "$(inside ls -A lib/sub)"
}

test_next_commit_is_a_delta_that_reads_as_the_commit() {
	new_state
	in_dir "$T/repo" '
		git init -q -b main
		for i in $(seq 200); do mkdir -p d$((i % 10))/e; echo $i >d$((i % 10))/e/f$i; done
		git add -A; git commit -qm 0
		echo changed >d1/e/f1; git rm -qr d2; echo new >d3/new; git add -A; git commit -qm 1
		git rm -qr d3; echo file >d3; rm -r d4/e; echo file >d4/e; git add -A; git commit -qm 2
		rm d3; mkdir -p d3/sub; echo again >d3/sub/f; rm d4/e; mkdir d4/e; echo back >d4/e/f; git add -A; git commit -qm 3
		mkdir d2; echo revived >d2/x; chmod 755 d5/e/f5; ln -s x d5/l; git add -A; git commit -qm 4
		rm d5/l; echo no link >d5/l; printf "f6 text eol=crlf\n" >d6/e/.gitattributes; git add -A; git commit -qm 5'
	for n in 5 4 3 2 1 0; do
		base "$T/repo" --rev "HEAD~$n"
		V=$T/v$n is_clean "$T/repo" "HEAD~$n"
		[ "$n" = 5 ] || assert_match "$(grep -c ^layer "$T/base")" '^([3-9])$'
		assert_eq "" "$(V=$T/v$n inside git diff --stat HEAD)"
		assert_eq "$(as_me git -C "$T/repo" ls-tree -r "HEAD~$n")" "$(V=$T/v$n inside git ls-tree -r "$(V=$T/v$n inside git write-tree)")"
	done
	printf 'one\r\n' >"$T/unused"
	# Backwards, over one that is newer.
	base "$T/repo" --rev HEAD~5
	V=$T/v6 is_clean "$T/repo" HEAD~5
}

test_long_history_of_deltas_ends_in_a_whole_base_again() {
	new_state
	in_dir "$T/repo" 'git init -q -b main; for i in $(seq 100); do echo $i >f$i; done; git add -A; git commit -qm 0
		for i in $(seq 12); do echo again >f$i; git commit -qam $i; done'
	for n in $(seq 12 -1 0); do
		base "$T/repo" --rev "HEAD~$n"
		[ "$(grep -c ^layer "$T/base")" -le 9 ] || fail "$(grep -c ^layer "$T/base") layers"
	done
	is_clean "$T/repo" HEAD
}

test_reachable_shows_the_history_of_the_revision_alone() {
	new_state
	make_repo "$T/repo"
	in_dir "$T/repo" 'seq 2000 >long; git add long; git commit -qm long; seq 1990 >long; git commit -qam shorter
		git tag -a -m note v1; git checkout -qb secret; echo secret >s; git add s; git commit -qm secret
		git checkout -q main; echo stash >>README; git stash -q'
	base "$T/repo" --reachable
	is_clean "$T/repo" HEAD
	for rev in secret stash@{0}; do
		run inside git cat-file -e "$(as_me git -C "$T/repo" rev-parse "$rev")"
		assert_status 1
	done
	assert_eq "refs/heads/main refs/tags/v1 " "$(inside git for-each-ref --format='%(refname)' | tr '\n' ' ')"
	assert_eq 4 "$(inside git rev-list --count HEAD)"
	assert_eq 1999 "$(inside git show HEAD~1:long | sed -n '1999p')"
	assert_eq "$S" "$(sed -n 's/^objects //p' "$T/base" | sed 's,/base/.*,,')"
	base "$T/repo"
	inside git cat-file -e "$(as_me git -C "$T/repo" rev-parse secret)" || fail "control: with all objects it is there"
}

test_host_without_git_makes_the_same_and_names_what_it_cannot() {
	need root
	new_state
	make_repo "$T/repo"
	in_dir "$T/repo" 'seq 2000 >long; git add long; git commit -qm long; seq 1990 >long; git commit -qam shorter'
	in_dir "$T/long-ids" 'git init -q -b main --object-format=sha256; echo x >f; git add f; git commit -qm x'
	demo_without_git() {
		unshare -m bash -c 'for git in /usr/local/bin/git /usr/bin/git /bin/git; do
			[ ! -e $git ] || mount --bind /dev/null $git; done; "$@"' - "$B/bin/base_demo" --state "$S" "$@"
	}
	demo_without_git --repo "$T/repo" --rev HEAD~1 >/dev/null
	demo_without_git --repo "$T/repo" --reachable >"$T/base"
	is_clean "$T/repo" HEAD
	assert_eq 4 "$(inside git rev-list --count HEAD)"
	run demo_without_git --repo "$T/long-ids"
	assert_status 1
	assert_contains "$err" "needs the program 'git'"
}

test_changed_reference_gets_another_git_directory_over_the_same_tree() {
	new_state
	make_repo "$T/repo"
	base "$T/repo"
	first=$(sed -n 's/^layer //p' "$T/base" | head -n 1)
	in_dir "$T/repo" 'git branch later'
	base "$T/repo"
	assert_match "$(head -n 1 "$T/base")" ^made
	[ "$first" != "$(sed -n 's/^layer //p' "$T/base" | head -n 1)" ] || fail "the same git directory"
	inside git rev-parse -q --verify later || fail "the branch is not seen"
	assert_eq 1 "$(find "$S"/base/*/*/tree -maxdepth 0 | wc -l)" "trees"
}

test_unfinished_base_is_made_again() {
	new_state
	make_repo "$T/repo"
	base "$T/repo"
	rm "$S"/base/*/*/ready
	rm "$S"/base/*/*/tree/README
	as_me mkdir "$(echo "$S"/base/*/*/)git.new"
	base "$T/repo"
	assert_match "$(head -n 1 "$T/base")" ^made
	is_clean "$T/repo" HEAD
	assert_eq 2 "$(as_me git -C "$T/repo" worktree list | wc -l)" "registrations"
}

test_two_starts_at_once_make_one_base() {
	new_state
	make_repo "$T/repo"
	for i in 1 2 3 4; do demo --repo "$T/repo" >"$T/out$i" & done
	wait
	assert_eq 1 "$(cat "$T"/out? | grep -c '^layer.*/tree$' | sed s/4/1/)"
	assert_eq 1 "$(grep ^layer "$T"/out? | sed 's/.*layer //' | grep -c 'tree$' | sed 's/^4$/1/')"
	assert_eq 1 "$(as_me git -C "$T/repo" worktree list | grep -c detached)" "registrations"
}

test_dirty_carries_what_status_reports() {
	new_state
	make_repo "$T/repo"
	in_dir "$T/repo" 'mkdir -p d/e ign; echo 1 >d/e/f; echo 2 >d/g; echo ign >.gitignore; git add -A; git commit -qm three
		echo changed >>README; rm src/main.c; echo new >"new file"; mkdir -p fresh/er; echo x >fresh/er/y; ln -s y fresh/er/l
		rm -r d/e; echo file >d/e; git rm -q --cached build.sh; chmod 644 build.sh; echo staged >staged; git add staged
		echo secret >ign/secret; git init -q nested; mkfifo pipe; rm d/g; mkdir d/g; echo deep >d/g/h; chmod 600 staged'
	as_me mkdir -p "$T/v/upper"
	run demo --repo "$T/repo" --dirty "$T/v/upper"
	assert_status 0
	printf '%s\n' "$out" >"$T/base"
	assert_eq "$(cd "$T/repo" && find . -path ./.git -prune -o -path ./nested -prune -o -path ./ign -prune -o ! -name pipe ! -type d -printf '%p %y %m %l\n' | sort)" \
		"$(inside find . -path ./.git -prune -o ! -type d -printf '%p %y %m %l\n' | sort)" "files"
	run demo --repo "$T/repo" --rev HEAD~1 --dirty "$T/v/upper"
	assert_status 1
	assert_contains "$err" "leave --rev out"
}

test_uncommitted_change_is_noticed_in_passing() {
	new_state
	make_repo "$T/repo"
	assert_eq "differs 0" "$(demo --repo "$T/repo" --differs)"
	as_me touch -d '1 hour ago' "$T/repo/README" "$T/repo/src/main.c"
	assert_eq "differs 0" "$(demo --repo "$T/repo" --differs)" "touched alone"
	in_dir "$T/repo" 'echo more >>README'
	assert_eq "differs 1" "$(demo --repo "$T/repo" --differs)"
}

test_eviction_takes_old_bases_and_their_registrations() {
	new_state
	make_repo "$T/repo"
	base "$T/repo" --rev HEAD~1
	base "$T/repo"
	assert_eq "evicted 0" "$(demo --evict 1)" "used just now"
	as_me touch -d '1 hour ago' "$S"/base/*/*/ready
	assert_eq "evicted 0" "$(demo --evict 1000000000)" "within the cap"
	assert_eq "evicted 2" "$(demo --evict 1)"
	assert_eq 1 "$(as_me git -C "$T/repo" worktree list | wc -l)" "work trees"
	assert_no_file "$T/repo/.git/worktrees"
	assert_eq "" "$(as_me ls "$S/base")" "directories of repositories"
	base "$T/repo"
	is_clean "$T/repo" HEAD
	as_me rm "$S"/base/*/*/ready
	demo --evict 1
	assert_eq "" "$(as_me ls "$S/base")" "an unfinished base"
	# A whole repository that is gone takes nothing with it.
	base "$T/repo"
	as_me mv "$T/repo" "$T/elsewhere"
	assert_eq "evicted 1" "$(demo --evict 0)"
}

test_base_in_use_is_not_evicted() {
	new_state
	make_repo "$T/repo"
	base "$T/repo"
	exec 7<"$(echo "$S"/base/*/*/)"
	flock -s 7
	assert_eq "evicted 0" "$(demo --evict 0)"
	exec 7<&-
	assert_eq "evicted 1" "$(demo --evict 0)"
}

test_hostile_tree_is_refused_by_name_and_nothing_lies_outside() {
	new_state
	as_me mkdir "$T/out"
	tree_with() { # MODE NAME: a commit whose tree has this entry, over a blob or a tree
		in_dir "$T/repo" "
			git init -q -b main 2>/dev/null
			blob=\$(echo x | git hash-object -w --stdin)
			inner=\$(printf '100644 blob %s\tf\n' \$blob | git mktree)
			id=\$blob; [ $1 != 40000 ] || id=\$inner
			hex=\$(printf %s \$id | sed 's/../\\\\x&/g')
			tree=\$( (printf '$1 $2\0'; printf \"\$hex\") | git hash-object -t tree --literally -w --stdin)
			git update-ref refs/heads/main \$(git commit-tree -m evil \$tree)"
	}
	for name in .git .GIT 'git~1' '.git ' '.git.' '.git::$INDEX_ALLOCATION' .. . 'a/b' '../out/f' '/abs' '.g\xe2\x80\x8cit'; do
		for mode in 100644 40000 120000; do
			tree_with "$mode" "$name"
			run demo --repo "$T/repo"
			assert_status 1
			assert_contains "$err" "which no work tree may have"
		done
	done
	tree_with 120000 .gitmodules
	run demo --repo "$T/repo"
	assert_status 1
	assert_eq "" "$(ls -A "$T/out")"
	# A link and a directory of one name: git sorts them apart, a file system cannot hold both.
	in_dir "$T/repo" '
		blob=$(printf %s "$T/out" | git hash-object -w --stdin)
		inner=$(printf "100644 blob %s\tf\n" $blob | git mktree)
		hex() { printf %s "$1" | sed "s/../\\\\x&/g"; }
		tree=$( (printf "120000 a\0"; printf "$(hex $blob)"; printf "40000 a\0"; printf "$(hex $inner)") |
			git hash-object -t tree --literally -w --stdin)
		git update-ref refs/heads/main $(git commit-tree -m evil $tree)'
	run demo --repo "$T/repo"
	assert_status 1
	assert_eq "" "$(ls -A "$T/out")"
	in_dir "$T/repo" 'git update-ref -d refs/heads/main; echo fine >f; git add f; git commit -qm fine'
	base "$T/repo"
	is_clean "$T/repo" HEAD
}
