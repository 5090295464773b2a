#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# doc/driver-guide.md, step by step, against an installation of its own: every command of its blocks of "sh" ends well.
# The template is built by autotools too.
set -u
cd "$ACCEL_TEST_BUILDDIR" || exit 99
unset MAKEFLAGS MFLAGS MAKELEVEL ACCEL_DRIVER_PATH ACCEL_PROFILE_PATH ACCEL_PROBE
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
failed=0
guide=$ACCEL_TEST_SRCDIR/doc/driver-guide.md

fail()
{
    echo "FAIL: $*"
    failed=1
}

if nm .libs/libaccel.so | grep -qE '__(asan|ubsan|tsan)'; then
    echo "skipped: the flags of pkg-config know nothing of sanitizers"
    exit 77
fi
make -s install-strip DESTDIR="$work/dest" >"$work/log" 2>&1 || { cat "$work/log"; fail "make install-strip"; exit 1; }
prefix=$(sed -n 's/^prefix = //p' Makefile)
moved=$work/moved
mv "$work/dest$prefix" "$moved" || exit 99
libdir=$(dirname "$(find "$moved" -name libaccel.so)")
sed -i "s,^libdir='[^']*',libdir='$libdir'," "$libdir"/*.la
PKG_CONFIG_PATH=$libdir/pkgconfig
PATH=$moved/bin:$PATH
XDG_CACHE_HOME=$work/cache
XDG_STATE_HOME=$work/state
MODEL=$work/model.gguf
cp "$ACCEL_TEST_SRCDIR/samples/stories260K/stories260K-q8_0.gguf" "$MODEL"
export PKG_CONFIG_PATH PATH XDG_CACHE_HOME XDG_STATE_HOME MODEL

# The commands of the guide in one shell, each with its status.
awk '/^```sh$/ {inside = 1; next} /^```$/ {inside = 0} inside' "$guide" >"$work/commands"
[ "$(wc -l <"$work/commands")" -gt 15 ] || fail "the guide has no commands"
{
    echo "cd '$work' || exit 1"
    while IFS= read -r line; do
        printf 'echo "$ %s"\n%s || { echo "status $? of this command"; exit 1; }\n' \
            "$(printf '%s' "$line" | sed 's/[\\"$`]/\\&/g')" "$line"
    done <"$work/commands"
} >"$work/script"
sh "$work/script" >"$work/out" 2>&1 </dev/null || { cat "$work/out"; fail "a command of the guide"; }

for line in '^template 1.0  loaded' '^mydriver 0.1  loaded' 'no failures, seed 1' 'no certificate' \
    'certificate for card0: [1-9][0-9]* tests passed, 0 failed, [1-9][0-9]* not claimed, [0-9]* skipped, seed [0-9]' '^mydriver:card0' 'weights have to be F32' ' was a '; do
    grep -q -- "$line" "$work/out" || { cat "$work/out"; fail "the guide's commands print no: $line"; }
done

# What was renamed is what is installed, and nothing of the old name.
[ -f "$(pkg-config --variable=driversdir accel-driver)/mydriver.so" ] || fail "the guide installs no mydriver.so"
[ -z "$(find "$moved" "$work/mydriver" -name 'template.*')" ] || fail "the guide leaves a template.so"

# Autotools, in a folder of its own.
if command -v autoreconf >/dev/null && command -v libtoolize >/dev/null; then
    cp -r "$moved/share/accel/template" "$work/auto"
    (cd "$work/auto" && autoreconf -fi && ./configure -q && make -s && make -s install DESTDIR="$work/third") \
        >"$work/log" 2>&1 || { cat "$work/log"; fail "the template with autotools"; }
    [ -f "$work/auto/template.so" ] || fail "autotools leave no template.so where the guide looks for it"
    found=$(find "$work/third" -name template.so)
    [ -n "$found" ] || fail "make install of the template installs nothing"
    accel-conform "$found" --filter 'file/*' --seed 1 >"$work/out" 2>&1 || { cat "$work/out"; fail "the template made by autotools"; }
else
    echo "skipped: autotools are not here to build the template"
fi
exit $failed
