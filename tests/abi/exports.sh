#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The libraries export exactly the lists in this folder (make update-symbols writes them anew), need only the
# libraries that they may, are bound at load, and libaccel is small.
set -u
cd "$ACCEL_TEST_BUILDDIR" || exit 99
here=$ACCEL_TEST_SRCDIR/tests/abi
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
failed=0

fail()
{
    echo "FAIL: $*"
    failed=1
}

# exports FILE: the dynamic symbols that it defines, without versions. The sanitizers' own do not count.
exports()
{
    nm -D --defined-only "$1" | sed -n 's/^[0-9a-f]* [A-Z] \([^@]*\).*/\1/p' | grep -vE '^(ACCEL_|__(asan|odr_asan|ubsan))' | sort
}

# needs FILE ALLOWED: every library that FILE needs is in the extended expression.
needs()
{
    readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' >"$work/needed"
    grep -vE "^(lib(c|m|pthread|dl|gcc_s|asan|ubsan)\.so\.[0-9]+|ld-linux[-a-z0-9_]*\.so\.[0-9]+|$2)\$" "$work/needed" &&
        fail "$1 needs the above"
    readelf -d "$1" | grep -qE 'BIND_NOW|Flags:.* NOW' || fail "$1 is bound lazily"
    readelf -d "$1" | grep -q TEXTREL && fail "$1 has text relocations"
    readelf -lW "$1" | grep GNU_STACK | grep -q 'RWE' && fail "$1 wants an executable stack"
}

for library in libaccel libaccel-model; do
    exports .libs/$library.so >"$work/list"
    diff -u "$here/$library.symbols" "$work/list" || fail "exports of $library differ from tests/abi/$library.symbols (if that is meant: make update-symbols)"
done
needs .libs/libaccel.so 'lib(hwloc|yaml-0|ltdl)\.so\.[0-9]+'
needs .libs/libaccel-model.so 'lib(jansson|utf8proc|pcre2-8|accel)\.so\.[0-9]+'

# Drivers: one symbol, and nothing of libaccel.
for driver in plugins/*/.libs/*.so; do
    [ -f "$driver" ] || continue
    exports "$driver" >"$work/list"
    [ "$(cat "$work/list")" = accel_driver_query ] || { cat "$work/list"; fail "$driver exports the above"; }
    needs "$driver" none
    nm -D --undefined-only "$driver" | grep ' accel_' && fail "$driver expects the above from libaccel"
    readelf -d "$driver" | grep -q NODELETE || fail "$driver may be unloaded"
done

# A library with sanitizers or coverage in it is not the one that is shipped.
if ! nm .libs/libaccel.so | grep -qE '__(asan|ubsan|tsan|gcov)'; then
    strip -o "$work/stripped" .libs/libaccel.so || exit 99
    size=$(wc -c <"$work/stripped")
    echo "libaccel stripped: $size bytes"
    [ "$size" -lt 1000000 ] || fail "libaccel has $size bytes, 1000000 are allowed"
fi
exit $failed
