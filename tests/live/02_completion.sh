#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck source=tests/live/lib.sh
# What the three shells offer behind "ohsandbox", asked of the shells themselves.

# WORDS... as typed; the last one is being completed. What a shell offers goes to `out`.
offered_by_bash() {
	run as_me env PATH="$STAGE/bin:$PATH" bash -c '
		source "$1/completions/ohsandbox"
		shift
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
		_ohsandbox
		printf "%s\n" "${COMPREPLY[@]}"' bash "$OHS_SRC" "$@"
}

# The functions that a real completion calls, saying what they were given.
offered_by_zsh() {
	run as_me env PATH="$STAGE/bin:$PATH" zsh -f -c '
		_describe() { print -rl -- "${(@P)2}"; }
		_files() { print -r -- "files"; }
		_normal() { print -r -- "as of ${words[1]}"; }
		_command_names() { print -r -- "commands"; }
		compadd() { print -rl -- "$@"; }
		file=$1/completions/_ohsandbox
		shift
		words=("$@") CURRENT=$#
		source $file' zsh "$OHS_SRC" "$@"
}

offered_by_fish() {
	run as_me env PATH="$STAGE/bin:$PATH" HOME="$T" fish --no-config -c '
		source $argv[1]/completions/ohsandbox.fish
		complete -C "$argv[2..-1]"' "$OHS_SRC" "$@"
}

commands_options_and_values() { # SHELL
	"offered_by_$1" ohsandbox st
	assert_status 0
	assert_match "$out" '(^|'$'\n'')start'
	assert_match "$out" '(^|'$'\n'')stop'
	"offered_by_$1" ohsandbox run --mem
	assert_contains "$out" --memory
	"offered_by_$1" ohsandbox diff --st
	assert_contains "$out" --stat
	assert_not_contains "$out" --memory
	"offered_by_$1" ohsandbox run --net n
	assert_contains "$out" nat
	assert_contains "$out" none
	assert_eq "" "$err"
	as_me mkdir -p "$T/a-tree" && as_me touch "$T/a-file"
	"offered_by_$1" ohsandbox run --root
	assert_contains "$out" --rootfs
	"offered_by_$1" ohsandbox start --rootfs "$T/a-"
	# In zsh it is the shell that looks.
	[ "$1" = zsh ] && assert_eq files "$out" && return
	assert_contains "$out" a-tree
	assert_not_contains "$out" a-file
}

what_serve_takes() { # SHELL
	"offered_by_$1" ohsandbox se
	assert_match "$out" '(^|'$'\n'')serve'
	"offered_by_$1" ohsandbox serve --allow
	assert_contains "$out" --allow-repo
	"offered_by_$1" ohsandbox serve --log ""
	assert_contains "$out" text
	assert_contains "$out" json
	assert_eq "" "$err"
	as_me mkdir -p "$T/a-tree" && as_me touch "$T/a-file"
	"offered_by_$1" ohsandbox serve --config "$T/a-"
	[ "$1" = zsh ] && assert_eq files "$out" && return
	assert_contains "$out" a-file
	"offered_by_$1" ohsandbox serve --allow-repo "$T/a-"
	assert_contains "$out" a-tree
	assert_not_contains "$out" a-file
}

names_and_ids_of_sessions() { # SHELL
	local id

	"offered_by_$1" ohsandbox pause --to
	assert_contains "$out" --to-disk
	id=$(json "$(ohs start --empty --name mine.too)" .id)
	"offered_by_$1" ohsandbox resume ""
	ohs stop "$id"
	assert_match "$out" '(^|'$'\n'')mine\.too'
	assert_match "$out" '(^|'$'\n'')'"$id"
}

test_the_shells_offer_sessions_by_id_and_by_name() {
	names_and_ids_of_sessions bash
	need cmd zsh
	names_and_ids_of_sessions zsh
	need cmd fish
	names_and_ids_of_sessions fish
}

test_bash_offers_commands_options_and_values() {
	commands_options_and_values bash
	what_serve_takes bash
}

test_zsh_offers_commands_options_and_values() {
	need cmd zsh
	commands_options_and_values zsh
	what_serve_takes zsh
	offered_by_zsh ohsandbox run -- make x
	assert_eq "as of make" "$out"
}

test_fish_offers_commands_options_and_values() {
	need cmd fish
	commands_options_and_values fish
	what_serve_takes fish
}
