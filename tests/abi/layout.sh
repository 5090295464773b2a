#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The structs of the public headers obey the layout rules of accel/abi.h: members, first members, slots, sizes. (That
# there is no padding is what headers.sh finds out.)
set -u
cd "$ACCEL_TEST_SRCDIR/include" || exit 99
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
failed=0
for header in accel/*.h; do echo "#include <$header>"; done >"$work/sizes.c"
awk -f ../tests/abi/layout.awk accel/*.h >>"$work/sizes.c" || failed=1
$CC -std=c11 -I. -fsyntax-only "$work/sizes.c" || failed=1
echo "$(grep -c _Static_assert "$work/sizes.c") structs"
exit $failed
