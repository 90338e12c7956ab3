# SPDX-License-Identifier: MIT
# Real work inside: a build of this project, packages over the network, a large repository, many sessions.
# as: root
# network: host
# deadline: 900
# shellcheck shell=bash

file_setup() {
	[ -z "${OHS_SANITIZED:-}" ] || skip "is about real programs, not about ours under a sanitizer"
	[ -z "${OHS_IN_VM:-}" ] || skip "takes too long in an emulated machine"
	make_repo "$BASE/work/repo"
}

# The documentation is no part of the tests: what is built is what git has.
test_this_project_builds_and_passes_its_own_unit_tests_inside() {
	need cmd autoreconf
	need cmd pkg-config
	[ -e "$OHS_SRC/.git" ] || skip "needs a clone, not a tarball"
	run ohs run --quiet --repo "$OHS_SRC" --trust-repo --timeout 10m --pids 1000 -- sh -ec '
		./autogen.sh >/dev/null 2>&1
		mkdir /tmp/b && cd /tmp/b
		/workspace/configure -q CFLAGS=-O0 >/dev/null
		make -s -j2 all tests/unit/test_str tests/unit/test_json tests/unit/test_plan >/tmp/log 2>&1 || { tail -n 20 /tmp/log; exit 1; }
		for t in str json plan; do ./tests/unit/test_$t 2>&1 | grep -c "       OK " ; done'
	assert_status 0
	assert_eq 3 "$(echo "$out" | grep -c '^[1-9]')" "unit test programs that passed: $out"
}

test_a_package_of_the_distribution_is_installed_by_the_sessions_root() {
	need net
	need cmd apt-get
	local before
	before=$(dpkg-query -W -f '.' | wc -c)
	! command -v sl >/dev/null || skip "the host has the package already"
	run ohs run --quiet --net nat --user root --repo "$BASE/work/repo" -- sh -ec '
		apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends sl >/dev/null
		dpkg-query -W -f "\${Status}" sl; test -x /usr/games/sl'
	assert_status 0
	assert_contains "$out" "install ok installed"
	[ ! -e /usr/games/sl ] || fail "the package came to the host"
	assert_eq "$before" "$(dpkg-query -W -f '.' | wc -c)" "packages of the host"
}

test_a_package_of_the_distribution_is_installed_by_sudo() {
	need net
	need cmd apt-get
	! command -v sl >/dev/null || skip "the host has the package already"
	run ohs run --quiet --net nat --repo "$BASE/work/repo" -- sh -ec '
		sudo apt-get -qq update && sudo DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends sl >/dev/null
		id -u; dpkg-query -W -f "\${Status}" sl; test -x /usr/games/sl'
	assert_status 0
	assert_eq $'1000\ninstall ok installed' "$out"
	[ ! -e /usr/games/sl ] || fail "the package came to the host"
}

test_a_package_of_npm_is_installed_and_tested() {
	need net
	need cmd npm
	run ohs run --quiet --net nat --repo "$BASE/work/repo" --env NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt -- sh -ec '
		mkdir /tmp/p && cd /tmp/p
		npm config set cafile /etc/ssl/certs/ca-certificates.crt
		npm init -y >/dev/null && npm install --no-audit --no-fund is-number@7.0.0 >/dev/null
		node -e "const n = require(\"is-number\"); if (!n(5) || n(\"x\")) process.exit(1); console.log(\"is-number works\")"'
	assert_status 0
	assert_contains "$out" "is-number works"
}

test_a_repository_of_100_000_files() {
	local dir=$T/large
	mkdir -p "$dir"
	git -C "$dir" init -q
	git -C "$dir" config gc.auto 0 # it would outlive the test
	(cd "$dir" && seq 0 499 | xargs mkdir && seq 0 99999 | awk '{ f = int($1 / 200) "/f" $1; print "file " $1 > f; close(f) }')
	git -C "$dir" add . && git -C "$dir" -c user.name=test -c user.email=test@localhost commit -qm many
	run ohs run --quiet --repo "$dir" -- sh -ec 'git status --short | wc -l; git ls-files | wc -l; echo changed >0/f0; git status --short'
	assert_status 0
	assert_eq "0
100000
 M 0/f0" "$out"
	# The second start finds the base.
	run ohs run --json --repo "$dir" -- true
	assert_status 0
	local kib
	kib=$(ohs start --repo "$dir" | jq -r .id)
	assert_match "$kib" '^[0-9a-f]{12}$'
	[ "$(du -sk "$OHS_STATE_DIR/sessions/$kib" | cut -f1)" -lt 400 ] || fail "a session takes $(du -sk "$OHS_STATE_DIR/sessions/$kib")"
	ohs stop "$kib" >/dev/null
}

test_two_hundred_sessions_at_once() {
	local i ids=() id answered=0
	for ((i = 0; i < 200; i++)); do
		ids+=("$(ohs start --repo "$BASE/work/repo" | jq -r .id)")
	done
	for id in "${ids[@]}"; do
		run ohs act "$id" run "echo $id"
		case $out in *"$id"*) answered=$((answered + 1)) ;; esac
	done
	ohs stop "${ids[@]}" >/dev/null
	assert_eq 200 "$answered" "sessions that answered"
}

test_node_programs_work() {
	need cmd node
	run ohs run --quiet --repo "$BASE/work/repo" -- node -e 'setTimeout(() => console.log("node", require("fs").readdirSync(".").length), 1)'
	assert_status 0
	assert_contains "$out" node
}

test_go_programs_work_by_the_hosts_toolchain() {
	local go
	go=$(PATH=$PATH:/usr/local/go/bin:/usr/lib/go/bin command -v go) || skip "needs the program go"
	cat >"$T/m.go" <<-'GO'
		package main

		import (
			"fmt"
			"os/exec"
		)

		func main() {
			c := make(chan int)
			go func() { c <- 42 }()
			fmt.Println(<-c)
			o, _ := exec.Command("echo", "spawned").Output()
			fmt.Print(string(o))
		}
	GO
	PATH=$PATH:${go%/*} run ohs run --quiet --toolchains --repo "$BASE/work/repo" --mount "$T/m.go:/tmp/m.go:ro" -- \
		env GOCACHE=/tmp/cache GOTOOLCHAIN=local go run /tmp/m.go
	assert_status 0
	assert_eq "42
spawned" "$out"
}
