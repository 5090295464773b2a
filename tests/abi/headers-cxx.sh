#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# headers.sh for C++17.
exec sh "$ACCEL_TEST_SRCDIR/tests/abi/headers.sh" c++
