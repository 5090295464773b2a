#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Checkpoints whose matrices are floats of 8 or 4 bits with scales in tensors of their own: memory, types and bytes.
. "$ACCEL_TEST_SRCDIR/tests/accelctl/lib.sh"
command -v python3 >/dev/null || exit 77

for format in nvfp4 nvfp4-values nvfp4-modelopt nvfp4-experts nvfp4-experts-values mxfp4 fp8 fp8-block e5m2; do
    python3 "$src/tests/accelctl/float_folder.py" "$models/hf" "$work/$format" $format || exit 99
done

# Matrices that are assembled when they are read are allocated, and never mapped.
for format in nvfp4 nvfp4-experts fp8 fp8-block e5m2; do
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
    [ "$2" = "$3" ] || has "bits per weight, in memory $3, "
}
stored nvfp4 NVFP4 NVFP4
stored nvfp4-modelopt NVFP4 NVFP4
stored mxfp4 MXFP4 MXFP4
stored fp8 F8_E4M3 f8_g64
stored fp8-block F8_E4M3 f8_g32
stored e5m2 F8_E5M2 BF16
try 0 "$accelctl" info "$models/hf"
! grep -q "in memory" "$work/out" || fail "info of F32 names another type"

# Blocks of NVFP4 and the factors of their products are the values of the checkpoint.
# blocks FORMAT VALUES BYTES: weights that are no mapped ones, 4.5 bits for each weight of NVFP4
blocks()
{
    try 0 "$accelctl" run "$work/$1" --json -q -n 1 -p Once
    is "$(number memory.classes.weights.allocated)" "$3" "bytes of matrices of $1"
    try 0 "$accelctl" eval --json -n 64 --text "$src/tests/accelctl/float_folder.py" --set compute.activations=f32 \
        --against "$work/$2" "$work/$1"
    awk "BEGIN { exit !($(value models.0.text.kl.mean) < 1e-6) }" ||
        fail "KL of $1 and its values: $(value models.0.text.kl.mean)"
    awk "BEGIN { exit !($(value models.0.relative_error) < 1e-7) }" ||
        fail "error of $1: $(value models.0.relative_error)"
}
blocks nvfp4 nvfp4-values $((171520 * 9 / 16))
blocks nvfp4-modelopt nvfp4-values $((171520 * 9 / 16))
# Stacks of experts: gate and up in blocks; down, of 172 columns, in F32.
blocks nvfp4-experts nvfp4-experts-values $(((5 * 12288 + 40 * 172 * 64) * 9 / 16 + 20 * 172 * 64 * 4))

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

# Quantizations that are not supported: the value of the file, what is supported, and a remedy that holds for them.
# config JSON WORDS: the configuration is refused with these words
config()
{
    python3 - "$work/nvfp4/config.json" "$1" <<'END' || exit 99
import json, sys
config = json.load(open(sys.argv[1]))
config["quantization_config"] = json.loads(sys.argv[2])
json.dump(config, open(sys.argv[1], "w"))
END
    try 3 "$accelctl" run "$work/nvfp4" -q -n 1 -p Once
    one_error "$2"
    case $2 in
    *"not an object") grep -q "remedy: .*damaged" "$work/err" || fail "remedy: $(cat "$work/err")" ;;
    *) grep -q "remedy: take the model in GPTQ, AWQ, " "$work/err" || fail "remedy: $(cat "$work/err")" ;;
    esac
}
config '{"quant_method": "bitsandbytes"}' "quant_method is 'bitsandbytes', supported: gptq, awq, "
config '{"quant_method": 7}' "quant_method is 7, supported: a string"
config '{"quant_method": "fp8", "fmt": "e5m2"}' "fmt is 'e5m2', supported: e4m3"
config '{"quant_method": "fp8", "weight_block_size": [100, 128]}' "weight_block_size is [100,128], supported: a pair of"
config '{"quant_method": "modelopt"}' "quant_algo is missing, supported: FP8, "
config '{"quant_method": "gptq", "bits": "four", "group_size": 128}' "bits is 'four', supported: 2, 3, 4, 8"
config '{"quant_method": "gptq", "bits": 4, "group_size": 1.5}' "group_size is 1.5, supported: -1 and multiples of 32"
config '{"quant_method": "compressed-tensors", "config_groups": {"g": {"weights": {"num_bits": 6, "type": "float"}}}}' \
    "num_bits is 6, supported: 8, 4"
config '{"quant_method": "compressed-tensors", "config_groups": [1]}' "config_groups is [1], supported: a table of groups"
config '"fp8"' "config.json: quantization_config is a string, not an object"
config '[]' "config.json: quantization_config is a list, not an object"
config null "has packed codes, but no quantization_config in config.json"

finish
