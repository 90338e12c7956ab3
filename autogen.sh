#!/bin/sh
# SPDX-License-Identifier: MIT
# autogen.sh - make ./configure out of configure.ac and the Makefile fragments.
set -eu
cd "$(dirname "$0")"

missing=
command -v autoreconf >/dev/null 2>&1 || missing="$missing autoconf"
command -v automake >/dev/null 2>&1 || missing="$missing automake"
{ command -v pkg-config && test -n "$(find /usr/share/aclocal* /usr/local/share/aclocal* -name pkg.m4 2>/dev/null)"; } \
	>/dev/null 2>&1 || missing="$missing pkg-config"
if test -n "$missing"; then
	echo "autogen.sh: packages are missing (Debian names):$missing" >&2
	echo "  as root:  apt-get install$missing" >&2
	exit 1
fi
mkdir -p config
exec autoreconf --install --force
