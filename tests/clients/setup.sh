# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154 # of whoever sources it: here, cache
# The root file system that the published clients live in; sourced by tests/clients/run.

SUITE=trixie UV=0.13.9

key=$(cat "$here"/*.lock "$here/setup.sh" | sha256sum | cut -c1-16)
root=$cache/$key

inside() { # COMMAND... in the clients' root file system, with what is needed of the environment
	chroot "$root$1" env -i PATH=/uv/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
		PIP_CERT=/certificates.pem SSL_CERT_FILE=/certificates.pem PIP_DISABLE_PIP_VERSION_CHECK=1 \
		${PIP_INDEX_URL:+PIP_INDEX_URL="$PIP_INDEX_URL" UV_DEFAULT_INDEX="$PIP_INDEX_URL"} "${@:2}"
}

# Names and certificates of the host: a mirror may stand behind its own.
lend() {
	cp -L /etc/resolv.conf "$1/etc/resolv.conf"
	cp -L /etc/hosts "$1/etc/hosts"
	cp -L /etc/ssl/certs/ca-certificates.crt "$1/certificates.pem"
}

# shellcheck disable=SC2016 # the inner shell's
make_root() {
	local log=$cache/setup.log

	rm -rf "$cache"/*.new
	echo "clients: fetching; the log is $log" >&2
	debootstrap --variant=minbase --include=python3,python3-venv,git,ca-certificates,tmux "$SUITE" "$root.new" \
		>"$log" 2>&1 &&
		lend "$root.new" &&
		cp "$here"/*.lock "$root.new" &&
		inside .new sh -ec "python3 -m venv /uv && /uv/bin/pip install -q uv==$UV" >>"$log" 2>&1 &&
		inside .new sh -ec 'for v in v0 v1 app; do
				python3 -m venv /$v
				uv pip install -q --no-cache --compile-bytecode --python /$v/bin/python --no-deps -r /$v.lock
			done' >>"$log" 2>&1 &&
		rm -rf "$root.new"/var/cache/apt/archives/*.deb &&
		find "$cache" -mindepth 1 -maxdepth 1 -type d ! -name "$key.new" -exec rm -rf {} + &&
		mv "$root.new" "$root" && return 0
	tail -n 5 "$log" >&2
	return 1
}
