#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# make install with DESTDIR, the tree moved to another prefix and used from there with an empty environment: the
# command, a program built with pkg-config, no path of the source or build folder inside; make uninstall leaves nothing.
set -u
cd "$ACCEL_TEST_BUILDDIR" || exit 99
unset MAKEFLAGS MFLAGS MAKELEVEL ACCEL_DRIVER_PATH ACCEL_PROFILE_PATH ACCEL_PROBE
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
failed=0
# mktemp -d makes a folder for one user only; the loader of drivers looks at owners and at write permission, so all is well.
dest=$work/dest
moved=$work/moved

fail()
{
    echo "FAIL: $*"
    failed=1
}

make -s install-strip DESTDIR="$dest" >"$work/log" 2>&1 || { cat "$work/log"; fail "make install-strip"; exit 1; }
prefix=$(sed -n 's/^prefix = //p' Makefile)
cp -a "$dest$prefix" "$moved" || exit 99
make -s uninstall DESTDIR="$dest" >"$work/log" 2>&1 || { cat "$work/log"; fail "make uninstall"; }
left=$(find "$dest" ! -type d)
[ -z "$left" ] || { echo "$left"; fail "make uninstall leaves the above"; }

# Where the prefix itself lies in the source tree, as in make distcheck, its own name is no trace. Sanitizers leave names
# of source files in all they make.
if ! nm .libs/libaccel.so | grep -qE '__(asan|ubsan|tsan)'; then case $prefix in
"$ACCEL_TEST_SRCDIR"/* | "$ACCEL_TEST_BUILDDIR"/*) ;;
*)
    for folder in "$ACCEL_TEST_SRCDIR" "$ACCEL_TEST_BUILDDIR"; do
        traces=$(grep -rlF "$folder" "$moved")
        [ -z "$traces" ] || { echo "$traces"; fail "these files name $folder"; }
    done
    ;;
esac; fi

# run NAME COMMAND...: from the moved tree, in an empty environment and another folder; output in $work/NAME.out
run()
{
    name=$1
    shift
    (cd / && env -i PATH=/usr/bin:/bin HOME="$work" LC_ALL=C "$@") >"$work/$name.out" 2>"$work/$name.err" </dev/null
    status=$?
    [ $status = 0 ] || { cat "$work/$name.out" "$work/$name.err"; fail "$name: status $status from $*"; }
}

for page in "$ACCEL_TEST_SRCDIR"/doc/*.[15]; do
    page=$(basename "$page")
    [ -n "$(find "$moved" -path "*/man${page##*.}/$page*")" ] || fail "no man page $page is installed"
done
for file in profiles/README.md profiles/base.yaml accel-profile.schema.json accel/driver-guide.md accel/README.md; do
    [ -n "$(find "$moved" -path "*/$file")" ] || fail "no $file is installed"
done
[ -n "$(find "$moved" -path '*/bash-completion/completions/accelctl')" ] || fail "no completion for bash is installed"
[ -n "$(find "$moved" -name _accelctl)" ] || fail "no completion for zsh is installed"
libdir=$(dirname "$(find "$moved" -name libaccel.so)")
PKG_CONFIG_PATH=$libdir/pkgconfig
export PKG_CONFIG_PATH
for package in accel accel-model; do
    flags=$(pkg-config --cflags --libs $package) || fail "pkg-config $package"
    # shellcheck disable=SC2086 # flags are words
    $CC ${CFLAGS:-} "$ACCEL_TEST_SRCDIR/tests/install/sample.c" -o "$work/sample" $flags -Wl,-rpath,"$libdir" ||
        fail "a program with the flags of $package"
    run sample "$work/sample"
    grep -qE '^accel [0-9.]+ sees [1-9][0-9]* devices$' "$work/sample.out" && grep -q '^cpu:cpu0: .' "$work/sample.out" ||
        { cat "$work/sample.out"; fail "the sample does not list the devices"; }
done
drivers=$(pkg-config --variable=driversdir accel-driver)
# What a vendor does: a driver of their own from the installed SDK, into the folder that pkg-config names.
flags=$(pkg-config --cflags --libs accel-driver)
# shellcheck disable=SC2086
$CC ${CFLAGS:-} -shared -fPIC "$ACCEL_TEST_SRCDIR/tests/install/driver.c" -o "$work/vendor.so" $flags ||
    fail "a driver with the flags of accel-driver"
exports=$(nm -D --defined-only "$work/vendor.so" | sed 's/.* //' | grep -vE '^(__(asan|odr_asan|ubsan))')
[ "$exports" = accel_driver_query ] || { echo "$exports"; fail "a vendor's driver exports the above"; }
pkg-config --variable=abi accel-driver | grep -qE '^[0-9]+\.[0-9]+$' || fail "accel-driver.pc gives no abi"

[ -f "$(pkg-config --variable=docdir accel-driver)/driver-guide.md" ] || fail "accel-driver.pc does not tell where the guide lies"
[ -f "$drivers/cpu.so" ] || fail "driversdir of accel-driver.pc, $drivers, has no cpu driver"
cp "$ACCEL_TEST_SRCDIR/samples/stories260K/stories260K-q8_0.gguf" "$work/model.gguf"
cp "$work/vendor.so" "$drivers/"
run version "$moved/bin/accelctl" version
run plugins "$moved/bin/accelctl" plugins
grep -qF "$moved" "$work/plugins.out" || { cat "$work/plugins.out"; fail "accelctl plugins shows no driver of the moved tree"; }
grep -q vendor "$work/plugins.out" || { cat "$work/plugins.out"; fail "accelctl plugins does not show a vendor's driver"; }
run devices "$moved/bin/accelctl" devices
run story "$moved/bin/accelctl" run "$work/model.gguf" --greedy -q --prompt "Once upon a time" -n 20
grep -q ' was a ' "$work/story.out" || { cat "$work/story.out"; fail "no story from the moved tree"; }
exit $failed
