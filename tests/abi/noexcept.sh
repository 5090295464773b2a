#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# In C++ a slot that may throw does not compile, and the same slot with noexcept does.
set -u
case ${CXX:-} in '' | no) CXX=c++ ;; esac
command -v "$CXX" >/dev/null || { echo "no C++ compiler"; exit 77; }
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
try() {
    cat >"$work/slot.cc" <<END
#include <accel/driver.h>
static int32_t close_it(accel_driver_device *, accel_error *) $1;
static int32_t close_it(accel_driver_device *, accel_error *) $1 { return ACCEL_OK; }
accel_device_table table = {sizeof(accel_device_table), 0, close_it};
END
    "$CXX" -std=c++17 -I"$ACCEL_TEST_SRCDIR/sdk/include" -fsyntax-only "$work/slot.cc" >"$work/log" 2>&1
}
try noexcept || { cat "$work/log"; echo "a slot that does not throw was refused"; exit 1; }
! try '' || { echo "a slot that may throw was taken"; exit 1; }
