#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Functions and types of libaccel.so as libabigail sees them, against those that the minor was recorded with: what
# offsets.sh cannot see, such as the types of parameters. `--update` records them anew. Needs abidw and abidiff.
set -u
stored=$ACCEL_TEST_SRCDIR/tests/abi/libaccel-0.2.abi.gz
library=$ACCEL_TEST_BUILDDIR/.libs/libaccel.so
headers=$ACCEL_TEST_SRCDIR/include
command -v abidw >/dev/null && command -v abidiff >/dev/null || { echo "SKIP: no abidw and abidiff"; exit 77; }
command -v gzip >/dev/null || { echo "SKIP: no gzip"; exit 77; }
# Without debug information there are no types, and a sanitizer's build has functions of its own.
readelf -S "$library" | grep -q '\.debug_info' || { echo "SKIP: libaccel.so has no debug information"; exit 77; }
if nm "$library" | grep -qE '__(asan|ubsan|tsan)'; then
    echo "SKIP: a build with sanitizers"
    exit 77
fi
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
if [ "${1:-}" = --update ]; then
    abidw --no-corpus-path --no-comp-dir-path --drop-private-types --drop-undefined-syms --no-elf-needed \
        --no-show-locs --no-parameter-names --exported-interfaces-only --headers-dir "$headers" \
        --out-file "$work/libaccel.abi" "$library" && gzip -9n <"$work/libaccel.abi" >"$stored"
    exit $?
fi
[ "$(uname -m)" = x86_64 ] || { echo "SKIP: recorded on another machine"; exit 77; }
gzip -dc "$stored" >"$work/libaccel.abi" || exit 99
# Bits of the answer: 1 wrong use or file, 2 usage, 4 differs, 8 differs so that old programs break.
abidiff --drop-private-types --no-added-syms --headers-dir2 "$headers" "$work/libaccel.abi" "$library" >"$work/out" 2>&1
status=$?
cat "$work/out"
[ $((status & 3)) = 0 ] || { echo "FAIL: abidiff does not work: $status"; exit 1; }
if [ $((status & 12)) != 0 ]; then
    echo "FAIL: the ABI of libaccel.so is another than recorded; where that is meant: make update-abi"
    exit 1
fi
exit 0
