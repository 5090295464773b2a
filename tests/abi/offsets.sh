#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The memory layout of the public structs is the one that is on record for this minor of the ABI. While the major is 0 a
# minor may break: raise ACCEL_ABI_MINOR in accel/abi.h and record the new layout with
# `make update-offsets`. Once the major is 1, only lines may be added, at the end of open structs.
set -u
record=$ACCEL_TEST_SRCDIR/tests/abi/offsets-0.2.txt
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
cd "$ACCEL_TEST_SRCDIR/include" || exit 99
awk -f ../tests/abi/offsets.awk accel/*.h >"$work/offsets.c" || exit 1
$CC -std=c11 -I. "$work/offsets.c" -o "$work/offsets" || exit 1
"$work/offsets" >"$work/now" || exit 1
if [ "${1:-}" = --update ]; then
    cp "$work/now" "$record"
    exit
fi
[ "$(wc -l <"$work/now")" -gt 200 ] || { echo "only $(wc -l <"$work/now") lines: the headers were not understood"; exit 1; }
diff -u "$record" "$work/now" || { echo "the layout changed: see the top of tests/abi/offsets.sh"; exit 1; }
