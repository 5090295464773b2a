#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# In C++ a driver that may throw does not compile: no slot of the ABI and none of the driver library takes a function
# that may, and a whole driver compiles with noexcept and does not without it.
set -u
case ${CXX:-} in '' | no) CXX=c++ ;; esac
command -v "$CXX" >/dev/null || { echo "no C++ compiler"; exit 77; }
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
include="-I$ACCEL_TEST_SRCDIR/include"
compiles() {
    # shellcheck disable=SC2086 # a list
    "$CXX" -std=c++17 $include -fsyntax-only "$work/$1" >"$work/log" 2>&1
}

cd "$ACCEL_TEST_SRCDIR" || exit 99
awk -f tests/abi/noexcept.awk include/accel/*.h include/accel/driver/*.h >"$work/slots.cc" || exit 1
compiles slots.cc || { head -20 "$work/log"; echo "a slot takes a function that may throw"; exit 1; }

# A driver of one kernel that throws where it has no memory.
driver() {
    cat >"$work/driver.cc" <<END
#include <accel/driver/sdk.h>
#include <new>
static void run(const sdk_call *, uint32_t, uint32_t) $1
{
    throw std::bad_alloc();
}
static int32_t find(const accel_host *, const accel_hardware *const *list, uint32_t count,
                         const accel_device_sink *sink, accel_error *error) $2
{
    return sdk_report_processors(list, count, sink, "throws0", "", nullptr, 0, error);
}
static sdk_kernel kernel()
{
    sdk_kernel row{};
    row.op = ACCEL_OP_ADD;
    row.name = "add";
    row.run = run;
    return row;
}
static const sdk_kernel row = kernel();
static sdk_backend make()
{
    sdk_backend backend{};
    backend.kernels = &row;
    backend.kernel_count = 1;
    backend.enumerate = find;
    return backend;
}
const sdk_backend throws = make();
END
    compiles driver.cc
}
driver noexcept noexcept || { cat "$work/log"; echo "a driver that does not throw was refused"; exit 1; }
! driver '' noexcept || { echo "a driver with a kernel that may throw was taken"; exit 1; }
! driver noexcept '' || { echo "a driver with an entry that may throw was taken"; exit 1; }
