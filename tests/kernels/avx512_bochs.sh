#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The real 512-bit kernels in an emulated processor: ACCEL_BOCHS names the runner, called as RUNNER PROGRAM.
if test -z "$ACCEL_BOCHS"; then
    echo "skipped: ACCEL_BOCHS names no runner"
    exit 77
fi
BX_DEADLINE=${BX_DEADLINE:-900}
export BX_DEADLINE
exec "$ACCEL_BOCHS" "${ACCEL_TEST_BUILDDIR:-.}/tests/kernels/avx512"
