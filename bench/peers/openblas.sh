#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Usage: bench/peers/openblas.sh FOLDER ; puts the library of Debian's libopenblas0-pthread into FOLDER/openblas.
set -eu
folder=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(cd "$work" && apt-get -q download libopenblas0-pthread >/dev/null && dpkg-deb -x libopenblas0-pthread_*.deb .)
mkdir -p "$folder/openblas"
cp -a "$work"/usr/lib/*/openblas-pthread/lib* "$folder/openblas/"
ls "$folder/openblas"
