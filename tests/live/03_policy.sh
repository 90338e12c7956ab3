#!/bin/bash
# SPDX-License-Identifier: MIT
# 03_policy.sh - policies, what of the host is refused by name, doctor; limits that cannot be kept.

test_policies_that_ship_are_listed_and_checked() {
	local name list

	run ohs policy list
	assert_status 0
	list=$out
	for name in default net strict nested; do
		assert_contains "$list" "$name "
		run ohs policy check "$name"
		assert_status 0
	done
}

test_typo_is_named_with_key_and_line() {
	printf '{\n "extends": "default",\n "limits": { "memroy": "1G" }\n}\n' >typo.json
	run ohs policy check ./typo.json
	assert_status 1
	assert_contains "$err" "typo.json: line 3: unknown key 'memroy'"
	run ohs run --dir "$T" --policy ./typo.json -- true
	assert_status 125
	assert_contains "$err" "typo.json: line 3: unknown key 'memroy'"
}

test_policy_that_is_not_there_is_named() {
	run ohs run --dir "$T" --policy nobody -- true
	assert_status 125
	assert_contains "$err" "no policy 'nobody'"
}

test_shown_policy_is_json_with_its_digest() {
	run ohs policy show default
	assert_status 0
	assert_match "$(json "$out" .digest)" '^[0-9a-f]{64}$'
	assert_eq none "$(json "$out" .network.mode)"
	assert_eq 1000 "$(json "$out" .user.uid)"
}

test_misspelled_call_is_warned_of() {
	printf '{"extends": "default", "seccomp": {"more_rules": [{"allow": ["opneat"]}]}}' >calls.json
	run ohs policy check ./calls.json
	assert_status 0
	assert_contains "$err" "system call 'opneat' is not known here"
}

test_policy_refuses_what_it_says() {
	printf '{"extends": "default", "seccomp": {"more_rules": [{"refuse": ["mkdir", "mkdirat"], "error": "EACCES"}]}}' \
		>nodirs.json
	mkdir work
	run ohs run --quiet --dir "$T/work" --policy ./nodirs.json -- mkdir x
	assert_status 1
	assert_contains "$err" 'Permission denied'
}

test_oci_profile_is_taken() {
	cat >profile.json <<-'END'
	{"defaultAction": "SCMP_ACT_KILL", "syscalls": [{"names": ["read"], "action": "SCMP_ACT_ALLOW"}]}
	END
	printf '{"extends": "default", "seccomp": {"oci": "profile.json"}}' >oci.json
	run ohs policy check ./oci.json
	assert_status 1
	assert_contains "$err" "allows no execve"
	ohs policy show default | jq '{defaultAction: "SCMP_ACT_ERRNO", defaultErrnoRet: 1, syscalls:
		[.seccomp.rules[] | select(.allow and (.when | not)) | {names: .allow, action: "SCMP_ACT_ALLOW"}]}' >profile.json
	mkdir work
	run ohs run --quiet --dir "$T/work" --policy ./oci.json -- sh -c 'unshare -U true || echo shut'
	assert_status 0
	assert_contains "$out" shut
}

test_directories_that_show_too_much_are_refused() {
	local dir

	for dir in / /etc /usr /home "$(as_me sh -c 'echo ~')"; do
		[ -d "$dir" ] || continue
		run ohs run --dir "$dir" -- true
		assert_status 125
		assert_contains "$err" "--dir $dir is refused"
	done
	run ohs run --dir "$OHS_STATE_DIR" -- true
	assert_status 125
	assert_contains "$err" 'state directory'
}

test_keys_sockets_and_devices_are_not_mounted() {
	local source

	mkdir -p work home/.ssh
	python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("sock")'
	for source in /dev/null "$T/sock" "$T/home" "$T/home/.ssh" /etc/shadow; do
		run ohs run --dir "$T/work" --mount "$source:/x" -- true
		assert_status 125
		assert_contains "$err" "--mount $source is refused"
	done
}

test_mount_is_a_layer_or_read_only() {
	as_me mkdir -p work data
	echo host | as_me tee data/f >/dev/null
	run ohs run --quiet --dir "$T/work" --mount "$T/data:/data" -- sh -c 'cat /data/f; echo inside >/data/f; cat /data/f'
	assert_status 0
	assert_contains "$out" host
	assert_contains "$out" inside
	assert_eq host "$(cat data/f)"
	run ohs run --quiet --dir "$T/work" --mount "$T/data:/data:ro" -- sh -c 'echo x >/data/f'
	assert_status 2
	assert_contains "$err" 'Read-only file system'
}

test_named_limit_that_cannot_be_kept_is_refused_by_name() {
	need user
	mkdir work
	run ohs run --dir "$T/work" --memory 64M -- true
	assert_status 125
	assert_contains "$err" '--memory cannot be kept'
}

test_doctor_speaks_of_every_thing_and_leaves_nothing() {
	local name

	run ohs doctor --json
	assert_status 0
	assert_eq true "$(json "$out" .sessions)"
	for name in kernel 'user namespaces' overlay 'private /proc' seccomp Landlock AppArmor ids 'memory controller' \
		bridge veth nftables 'other firewalls'; do
		assert_eq "$name" "$(json "$out" ".checks[] | select(.name == \"$name\").name")"
	done
	assert_eq 0 "$(json "$out" '[.checks[] | select(.verdict != "ok" and .means == null)] | length')"
	assert_eq '' "$(ls "$OHS_STATE_DIR" | grep '^doctor-' || true)"
}

test_doctor_finds_a_state_directory_others_can_enter() {
	as_me mkdir -m 0755 open
	run as_me env OHS_STATE_DIR="$T/open" ohsandbox doctor
	assert_status 1
	assert_contains "$out" 'state directory'
	assert_contains "$out" 'sessions cannot run here'
}

test_toolchain_of_a_home_is_found_and_runs() {
	as_me mkdir -p home/.cargo/bin home/.rustup work
	printf '#!/bin/sh\necho cargo of the host\n' | as_me tee home/.cargo/bin/cargo >/dev/null
	as_me sh -c 'echo secret >home/.cargo/credentials.toml; chmod 755 home home/.cargo home/.cargo/bin home/.cargo/bin/cargo'
	chmod 755 "$T" 2>/dev/null || true
	run as_me env PATH="$T/home/.cargo/bin:$PATH" ohsandbox run --quiet --dir "$T/work" --toolchains -- \
		sh -c 'cargo; ls -A "$(dirname "$(dirname "$(command -v cargo)")")"'
	assert_status 0
	assert_contains "$out" 'cargo of the host'
	assert_not_contains "$out" credentials
}
