#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A core and a driver of different minors work together. The next minor is made of the headers: a member more at the end
# of every open struct, a slot more in every table, an operator, a bit and a code more, and its number. A driver built with
# it passes the kit of this core, and what is new in it is refused by name where it is used. A driver built with headers
# from which the optional members at the ends were taken passes, too; one that says an earlier minor is refused by name.
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
for header in "$top"/include/accel/*.h; do
    awk -f "$top/tests/abi/next.awk" "$header" >"$next/accel/${header##*/}" || exit 99
done
cp "$top"/include/accel/driver/*.h "$next/accel/driver"
awk '/^ACCEL_OPERATOR/ { count++ } /^#undef/ { print "ACCEL_OPERATOR(" count + 1 ", SENTINEL, sentinel, 3, 1, NO_ATTRIBUTES, 0, same, NULL, IN(x, F32, 1, ANY))" }
    { print }' "$top/include/accel/driver/ops.def" >"$next/accel/driver/ops.def"
sed -e 's/^#define SDK_ABI_MINOR_TEXT "2"/#define SDK_ABI_MINOR_TEXT "3"/' \
    "$top/include/accel/driver/note.h" >"$next/accel/driver/note.h"
sed 's/^#define ACCEL_PLUGIN_LOWEST_MINOR ACCEL_ABI_MINOR/#define ACCEL_PLUGIN_LOWEST_MINOR 2u/' \
    "$top/core/plugin/plugin.h" >"$next/core/plugin/plugin.h"
structs=$(grep -c 'sentinel;\|\*sentinel)' "$next"/accel/*.h | awk -F: '{ n += $2 } END { print n }')
[ "$structs" -gt 50 ] || { echo "only $structs open structs: the headers were not understood"; exit 1; }
grep -q '^ACCEL_OPERATOR([0-9]*, SENTINEL' "$next/accel/driver/ops.def" && grep -q '^#define ACCEL_E_SENTINEL' "$next/accel/error.h" &&
    grep -q '^#define ACCEL_DEVICE_SENTINEL [0-9]*u$' "$next"/accel/*.h || { echo "no new operator, code or bit"; exit 1; }
include="-I$next -I$top/include -I$top -I$build"

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
# The first minor of the major stays the lowest that a driver made by the macros names.
grep -aq 'abi_lowest=2' "$work/next.so" || { echo "a driver of the next minor names another lowest one"; failures=1; }

# A mock with the next minor's headers that uses a new word, and what this core says of it.
mkdir -p "$next/tests/mock" "$work/words"
sed -e 's/ACCEL_ABI_MINOR == 2/ACCEL_ABI_MINOR == 3/' -e 's/abi_minor=2/abi_minor=3/' -e 's/abi_lowest = ACCEL_ABI_MINOR/abi_lowest = 2/' \
    -e 's/return \(sink->device(.*\);/int32_t code = \1; return code != ACCEL_OK ? code : MOCK_ANSWER;/' \
    "$top/tests/mock/mock.h" >"$next/tests/mock/mock.h"
# word NAME CODE WORDS [FLAG]: the rest of the mock stands at the standard input.
word() {
    { printf '#define MOCK_NAME "%s"\n#include "tests/mock/mock.h"\n' "$1"; cat; } >"$work/$1.c"
    # shellcheck disable=SC2086 # a list of flags
    $CC -std=gnu11 -O0 -w -fPIC -fvisibility=hidden $include -shared -Wl,-z,now -Wl,-z,nodelete -Wl,-z,noexecstack \
        "${4:--DMOCK_ANSWER=ACCEL_OK}" -o "$work/words/$1.so" "$work/$1.c" || { failures=$((failures + 1)); return; }
    "$build/accelctl" plugins --drivers "$work/words/$1.so" >"$work/out" 2>&1
    grep -q "$2" "$work/out" && grep -q "$3" "$work/out" && return
    cat "$work/out"
    echo "a driver of the next minor, $1: neither $2 nor $3"
    failures=$((failures + 1))
}
word bit ACCEL_E_UNSUPPORTED 'accel_facts.flags 0x.* has unknown bits' <<'END'
static const struct accel_facts facts = {.size = sizeof(facts), .kind = ACCEL_DEVICE_OTHER,
    .flags = ACCEL_DEVICE_SENTINEL, .hardware = -1, .id = "x", .name = "x", .detail = "", .heap_count = 1,
    .heaps = mock_heaps, .limits = &mock_limits};
static const struct mock mock = {.facts = &facts};
END
word member ACCEL_E_UNSUPPORTED 'byte .* of accel_facts' <<'END'
static const struct accel_facts facts = {.size = sizeof(facts), .kind = ACCEL_DEVICE_OTHER, .hardware = -1, .id = "x",
    .name = "x", .detail = "", .heap_count = 1, .heaps = mock_heaps, .limits = &mock_limits, .sentinel = 7};
static const struct mock mock = {.facts = &facts};
END
word code ACCEL_E_INTERNAL 'is no code of ABI 0' -DMOCK_ANSWER=ACCEL_E_SENTINEL <<'END'
static const struct mock mock;
END

# A minor before this one: the members that drivers and cores can do without are not there yet.
earlier=$work/earlier
mkdir -p "$earlier/accel/driver" "$earlier/driver"
trims="accel_host.account accel_instance_table.poll accel_device_table.memory accel_device_table.fingerprint
    accel_attention.sinks accel_attention.block"
for header in "$top"/include/accel/*.h; do
    awk -v trims="$(echo $trims)" -f "$top/tests/abi/earlier.awk" "$header" >"$earlier/accel/${header##*/}" || exit 99
done
for trim in $trims; do
    count=$(awk -v trims="$trim" -f "$top/tests/abi/earlier.awk" "$top"/include/accel/*.h | wc -l)
    [ "$count" -lt "$(cat "$top"/include/accel/*.h | wc -l)" ] || { echo "no member $trim"; failures=$((failures + 1)); }
done
cp "$top"/include/accel/driver/*.h "$top"/include/accel/driver/*.def "$earlier/accel/driver"
for source in "$top"/sdk/driver/*.c; do
    sed -e '/\.fingerprint = device_fingerprint,/d' "$source" >"$earlier/driver/${source##*/}"
done
# early NAME: a driver of the earlier minor
early() {
    $CC -std=gnu11 -O0 -w -fPIC -fvisibility=hidden -I"$earlier" -I"$top/include" -I"$top/sdk/driver" -I"$top" \
        -I"$build" -shared -Wl,-z,now -Wl,-z,nodelete -Wl,-z,noexecstack -o "$work/$1.so" "$top/tests/drivers/four.c" \
        "$earlier"/driver/*.c -L"$build/.libs" -l:libaccel-quant.a -lm
}
early trimmed || exit 1
hold "$kit" "$work/trimmed.so" "a driver without the optional members, this core"
sed -i 's/^#define ACCEL_ABI_MINOR 2u/#define ACCEL_ABI_MINOR 1u/' "$earlier"/accel/abi.h
sed -i -e 's/^#define SDK_ABI_MINOR_TEXT "2"/#define SDK_ABI_MINOR_TEXT "1"/' -e 's/^#define SDK_ABI_LOWEST 2u/#define SDK_ABI_LOWEST 1u/' \
    -e 's/^#define SDK_ABI_LOWEST_TEXT "2"/#define SDK_ABI_LOWEST_TEXT "1"/' "$earlier/accel/driver/note.h"
early before || exit 1
"$build/accelctl" plugins --drivers "$work/before.so" >"$work/out" 2>&1
grep -q 'ACCEL_E_ABI' "$work/out" && grep -q 'made for the driver ABI 0.1 (lowest minor 1); this library has 0.2' "$work/out" || {
    cat "$work/out"
    echo "a driver of the minor before is not refused by name"
    failures=$((failures + 1))
}

if [ "${ACCEL_TEST_MINORS:-}" = all ]; then
    # shellcheck disable=SC2046,SC2086
    $CC -std=gnu11 -O0 -w $include -DACCEL_DRIVERSDIR='"/nowhere"' -DACCEL_PROFILESDIR='"/nowhere"' \
        -DACCEL_LIBEXECDIR='"/nowhere"' -DACCEL_LIBDIR='"/nowhere"' -DACCEL_PREFIX='"/nowhere"' -o "$work/kit" \
        "$top"/core/*/*.c "$top"/sdk/conform/*.c -L"$build/.libs" -l:libaccel-quant.a \
        $(pkg-config --cflags --libs hwloc yaml-0.1) -lltdl -lm -ldl -lpthread || exit 1
    hold "$work/kit" "$now" "this driver, a core of the next minor"
    hold "$work/kit" "$work/next.so" "driver and core of the next minor"
fi
[ "$failures" -eq 0 ]
