#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A core and a driver of different minors work together. The next minor is made of the headers: a member more at the end
# of every open struct, a slot more in every table, and its number. A driver built with it passes the kit of this core.
# With ACCEL_TEST_MINORS=all the kit is built with it too (minutes) and holds both drivers.
set -u
top=$ACCEL_TEST_SRCDIR
build=$ACCEL_TEST_BUILDDIR
kit=$build/accel-conform
now=$build/tests/drivers/.libs/four.so
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME="$work/cache"
case ${CC:-} in '') CC=cc ;; esac

# The headers, and the two places that say that no other minor will do while the major is 0.
next=$work/next
mkdir -p "$next/accel/driver" "$next/core/plugin"
for header in "$top"/sdk/include/accel/*.h; do
    awk -f "$top/tests/abi/next.awk" "$header" >"$next/accel/${header##*/}" || exit 99
done
cp "$top"/sdk/driver/include/accel/driver/*.h "$next/accel/driver"
sed -e 's/^#define SDK_ABI_MINOR_TEXT "1"/#define SDK_ABI_MINOR_TEXT "2"/' \
    -e 's/abi_lowest=" SDK_ABI_MINOR_TEXT/abi_lowest=" "1"/' \
    -e 's/ACCEL_ABI_MAJOR, ACCEL_ABI_MINOR, ACCEL_ABI_MINOR,/ACCEL_ABI_MAJOR, ACCEL_ABI_MINOR, 1u,/' \
    "$top/sdk/driver/include/accel/driver/note.h" >"$next/accel/driver/note.h"
sed 's/^#define ACCEL_PLUGIN_LOWEST_MINOR ACCEL_ABI_MINOR/#define ACCEL_PLUGIN_LOWEST_MINOR 1u/' \
    "$top/core/plugin/plugin.h" >"$next/core/plugin/plugin.h"
structs=$(grep -c 'sentinel;\|\*sentinel)' "$next"/accel/*.h | awk -F: '{ n += $2 } END { print n }')
[ "$structs" -gt 50 ] || { echo "only $structs open structs: the headers were not understood"; exit 1; }
include="-I$next -I$top/sdk/quant/include -I$top/sdk/model/include -I$top -I$build"

# shellcheck disable=SC2086 # lists of flags and of sources
$CC -std=gnu11 -O0 -w -fPIC -fvisibility=hidden $include -shared -Wl,-z,now -Wl,-z,nodelete -Wl,-z,noexecstack \
    -o "$work/next.so" "$top/tests/drivers/four.c" "$top"/sdk/driver/*.c -L"$build/.libs" -l:libaccel-quant.a -lm ||
    exit 1

failures=0
hold() {
    for group in 'file/*' 'layout/*' 'life/*' 'memory/*' 'add/*' 'matmul/q4_0' 'embed/f32'; do
        "$1" "$2" --filter "$group" --rounds 1 --seed 3 >"$work/out" 2>&1 && grep -q "no failures" "$work/out" || {
            tail -15 "$work/out"
            echo "$3: $group"
            failures=$((failures + 1))
        }
    done
}
hold "$kit" "$work/next.so" "a driver of the next minor, this core"

if [ "${ACCEL_TEST_MINORS:-}" = all ]; then
    # shellcheck disable=SC2046,SC2086
    $CC -std=gnu11 -O0 -w $include -DACCEL_DRIVERSDIR='"/nowhere"' -DACCEL_PROFILESDIR='"/nowhere"' \
        -DACCEL_LIBEXECDIR='"/nowhere"' -DACCEL_LIBDIR='"/nowhere"' -DACCEL_PREFIX='"/nowhere"' -o "$work/kit" \
        "$top"/core/*/*.c "$top"/tools/accel-conform/*.c -L"$build/.libs" -l:libaccel-quant.a \
        $(pkg-config --cflags --libs hwloc yaml-0.1) -lltdl -lm -ldl -lpthread || exit 1
    hold "$work/kit" "$now" "this driver, a core of the next minor"
    hold "$work/kit" "$work/next.so" "driver and core of the next minor"
fi
[ "$failures" -eq 0 ]
