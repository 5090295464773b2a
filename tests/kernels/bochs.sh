#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The real kernels of the levels that this machine lacks in an emulated processor, one instruction after the other:
# ACCEL_BOCHS names the runner, called as RUNNER PROGRAM TEST with the processor's name in BX_MODEL. What detects the
# levels is tested by it too: on each model exactly the levels that it has are there.
if test -z "$ACCEL_BOCHS"; then
    echo "skipped: ACCEL_BOCHS names no runner"
    exit 77
fi
BX_DEADLINE=${BX_DEADLINE:-900}
BX_MODEL=
export BX_DEADLINE BX_MODEL
folder=${ACCEL_TEST_BUILDDIR:-.}/tests/kernels
failed=0

# LEVEL MODEL TEST...: runs the tests of a level on a model.
on_model() {
    level=$1 BX_MODEL=$2
    shift 2
    test -x "$folder/$level" || { echo "left out: $level was not built"; return; }
    for name; do
        echo "== $level on $BX_MODEL: $name"
        "$ACCEL_BOCHS" "$folder/$level" "$name" || failed=1
    done
}

# LEVEL MODEL: the model lacks the level, and the program says so.
not_on_model() {
    BX_MODEL=$2
    test -x "$folder/$1" || return
    "$ACCEL_BOCHS" "$folder/$1" test_table
    test $? -eq 77 || { echo "$1 runs on $2, which has none"; failed=1; }
}

on_model avxvnni arrow_lake test_table test_names test_matmul8_few test_matmul8_rows
on_model avx512 tigerlake test_table test_names test_matmul8_few test_matmul_few test_quantize \
    test_cache_write_planar test_norms
on_model avx512bf16 sapphire_rapids test_table test_own test_matmul16 test_round16
not_on_model avx512bf16 tigerlake
not_on_model amx sapphire_rapids
not_on_model avx512 arrow_lake
not_on_model avxvnni tigerlake
not_on_model avxvnni broadwell_ult
exit $failed
