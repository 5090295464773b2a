#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every public header compiles alone and twice, as C11 (or as C++17 with the argument "c++"), without a warning of
# -Wall -Wextra -Wpedantic and without padding in a struct; all of them together link when two files include them;
# and every one is installed.
set -u
language=${1:-c}
compiler=$CC
standard="-x c -std=c11 -Wpadded"
if [ "$language" = c++ ]; then
    [ -n "$CXX" ] || { echo "skipped: no C++ compiler"; exit 77; }
    compiler=$CXX
    standard="-x c++ -std=c++17"
fi
flags="$standard -Wall -Wextra -Wpedantic -Werror"
root=$ACCEL_TEST_SRCDIR/include
flags="$flags -I$root"

work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
failed=0
count=0
: >"$work/all"
# shellcheck disable=SC2086 # flags are a list
for header in $(cd "$root" && find accel -name '*.h' | sort); do
    count=$((count + 1))
    echo "#include <$header>" | tee -a "$work/all" >"$work/one"
    cat "$work/one" "$work/one" >"$work/twice"
    for text in one twice; do
        $compiler $flags -fsyntax-only "$work/$text" || { echo "FAIL: $header, $text, $language"; failed=1; }
    done
    grep -qF "/$header " "$ACCEL_TEST_BUILDDIR/installed-headers" || { echo "FAIL: $header is not installed"; failed=1; }
done
[ "$count" -ge 14 ] || { echo "FAIL: only $count headers found"; failed=1; }

cp "$work/all" "$work/first"
echo "int main(void) { return 0; }" | cat "$work/all" - >"$work/second"
# shellcheck disable=SC2086
$compiler $flags "$work/first" "$work/second" -o "$work/program" || { echo "FAIL: two files with all headers"; failed=1; }
echo "$count headers"
exit $failed
