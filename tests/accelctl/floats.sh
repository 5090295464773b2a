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

# info: the type and bytes in the file, and those in memory, where they differ.
# stored FORMAT TYPE MEMORY_TYPE: of the 30 matrices of the layers, 171520 weights
stored()
{
    try 0 "$accelctl" info "$work/$1" --json
    is "$(value weights.types.1.type)" "$2" "type of $1 in the file"
    is "$(value weights.types.1.memory_type)" "$3" "type of $1 in memory"
    bytes=$(number weights.types.1.bytes)
    is "$(printf %.4f "$(value weights.types.1.bits_per_weight)")" "$(awk "BEGIN { printf \"%.4f\", 8 * $bytes / 171520 }")" \
        "bits per weight of $1"
    is "$(number weights.bytes)" "$((bytes + $(number weights.types.0.bytes)))" "bytes of $1 in the file"
    is "$(number weights.memory_bytes)" \
        "$(($(number weights.types.1.memory_bytes) + $(number weights.types.0.memory_bytes)))" "bytes of $1 in memory"
    try 0 "$accelctl" info "$work/$1" --tensors
    has "bits per weight, in memory $3, "
}
stored nvfp4 NVFP4 F16
stored nvfp4-modelopt NVFP4 F16
stored mxfp4 MXFP4 F16
stored fp8 F8_E4M3 f8_g64
stored fp8-block F8_E4M3 f8_g32
stored e5m2 F8_E5M2 BF16
try 0 "$accelctl" info "$models/hf"
! grep -q "in memory" "$work/out" || fail "info of F32 names another type"

# Their values are rounded already.
# rounded FORMAT TYPE
rounded()
{
    try 2 "$accelctl" quantize "$work/$1" "$work/again" q4_g32
    one_error "is quantized already: 30 matrices in $2 would be rounded a second time"
    try 0 "$accelctl" quantize "$work/$1" "$work/again" q4_g32 --requantize
    has "requantized: 30 matrices were quantized in IN (the first from $2)"
    rm -rf "$work/again"
    try 0 "$accelctl" quantize "$work/$1" "$work/again" f16 --json
    is "$(number requantized)" 0 "matrices of $1 that are rounded by unpacking"
    rm -rf "$work/again"
}
rounded nvfp4 NVFP4
rounded nvfp4-modelopt NVFP4
rounded mxfp4 MXFP4
rounded fp8 F8_E4M3
rounded e5m2 F8_E5M2

finish
