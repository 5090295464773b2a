#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Drivers of earlier releases run under this core: for each tag v* a driver is built of the tagged sources with the tagged
# headers, and the kit holds it. While the major is 0 a release may refuse those before it, by name: ACCEL_E_ABI.
# ACCEL_TEST_TAGS="COMMIT ..." names others.
set -u
top=$ACCEL_TEST_SRCDIR
build=$ACCEL_TEST_BUILDDIR
kit=$build/accel-conform
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME="$work/cache"
case ${CC:-} in '') CC=cc ;; esac
tags=${ACCEL_TEST_TAGS:-$(git -C "$top" tag --list 'v*' 2>/dev/null)}
[ -n "$tags" ] || { echo "skipped: there is no release yet, or no repository"; exit 77; }

failures=0
for tag in $tags; do
    then=$work/$tag
    mkdir -p "$then"
    git -C "$top" archive "$tag" $(git -C "$top" ls-tree --name-only "$tag" | grep -xE 'include|quant|sdk') tests/drivers/four.c | tar -xf - -C "$then" || exit 1
    # What libaccel-quant is to a driver lies in headers and in the few functions that it calls.
    # shellcheck disable=SC2086 # sources
    $CC -std=gnu11 -O1 -w -fPIC -fvisibility=hidden -I"$then/include" -I"$then/sdk/include" \
        -I"$then/sdk/driver/include" -I"$then/sdk/quant/include" -I"$then" -I"$build" -shared -Wl,-z,now -Wl,-z,nodelete -Wl,-z,noexecstack \
        -Wl,--gc-sections -o "$work/$tag.so" "$then/tests/drivers/four.c" "$then"/sdk/driver/*.c $(find "$then/quant" "$then/sdk/quant" -name '*.c' 2>/dev/null) \
        -lm || exit 1
    for group in 'file/*' 'layout/*' 'life/*' 'memory/*' 'add/*' 'matmul/q4_0'; do
        "$kit" "$work/$tag.so" --filter "$group" --rounds 1 --seed 5 >"$work/out" 2>&1 && continue
        # Said by the gate, with both numbers, before anything of it runs.
        grep -q 'made for the driver ABI 0\.' "$work/out" && break
        tail -15 "$work/out"
        echo "the driver of $tag: $group"
        failures=$((failures + 1))
    done
done
[ "$failures" -eq 0 ]
