#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Checkpoints whose matrices are floats of 8 or 4 bits with scales in tensors of their own: memory, types and bytes.
. "$ACCEL_TEST_SRCDIR/tests/accelctl/lib.sh"
command -v python3 >/dev/null || exit 77

for format in nvfp4 nvfp4-modelopt mxfp4 fp8 fp8-block e5m2; do
    python3 "$src/tests/accelctl/float_folder.py" "$models/hf" "$work/$format" $format || exit 99
done

# Matrices that are assembled when they are read are allocated, and never mapped.
for format in nvfp4 fp8 fp8-block e5m2; do
    planned_is_used cpu "$work/$format"
    sum=0
    for class in weights "mapped weights" state activations scratch program host; do
        sum=$((sum + $(number "memory.classes.$class.planned")))
    done
    is "$sum" "$(number memory.planned)" "sum of the classes of $format"
done

finish
