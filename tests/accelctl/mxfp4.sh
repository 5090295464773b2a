#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# gpt-oss as it is published, with experts in MXFP4: its stages are those of the same values in BF16, and its experts are
# in memory as they are in the file.
. "$ACCEL_TEST_SRCDIR/tests/accelctl/lib.sh"
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
fixture=${ACCEL_SHARED_FIXTURES:-/nowhere}/gpt-oss-tiny
[ -d "$fixture" ] || { echo "skipped: no fixture gpt-oss-tiny (ACCEL_SHARED_FIXTURES)"; exit 77; }
python3 "$src/tests/accelctl/mxfp4_folder.py" "$fixture" "$work/packed" "$work/plain" || exit 99

# trace FOLDER [WAY]: the stages of a folder in $work/FOLDER.safetensors
trace()
{
    rm -f "$work/$1.safetensors"
    # shellcheck disable=SC2086
    try 0 "$accelctl" trace "$work/$1" --in "$fixture/inputs.safetensors" --out "$work/$1.safetensors" ${2-}
}
for way in "" --stepwise; do
    trace plain "$way"
    trace packed "$way"
    "$stages" "$work/packed.safetensors" "$work/plain.safetensors" "$fixture/fixture.json" ||
        fail "the stages differ $way"
done
try 0 "$accelctl" info "$work/packed" --json
is "$(value weights.types.1.type)" MXFP4 "type of the experts"
# Two layers with four experts of 3 * 64 * 64 weights, 17 bytes for 32 of them.
is "$(number weights.types.1.bytes)" $((2 * 4 * 3 * 64 * 64 / 32 * 17)) "bytes of the experts"
is "$(number weights.types.1.memory_bytes)" $((2 * 4 * 3 * 64 * 64 / 32 * 17)) "bytes of the experts in memory"

# A plan counts the experts that a token has: one more in each of two layers reads 3 * 64 * 64 weights of BF16 and 3 * 64
# biases, which are F32 in memory, more.
# step USED: bytes of a decode step with so many experts of a token
step()
{
    sed -i "s/\"num_experts_per_tok\": [0-9]*/\"num_experts_per_tok\": $1/" "$work/plain/config.json"
    try 0 "$accelctl" plan "$work/plain" --json
    number speed.0.step_bytes
}
one=$(step 1)
is "$(($(step 2) - one))" $((2 * 3 * 64 * (64 * 2 + 4))) "bytes of an expert more"

# Tensors of another shape or name are refused by name.
cat >"$work/change.py" <<'END'
import json, struct, sys

# change.py IN OUT TENSOR {"shape": [...]} or {"name": "..."}
data = open(sys.argv[1], "rb").read()
size = struct.unpack("<Q", data[:8])[0]
header, change = json.loads(data[8 : 8 + size]), json.loads(sys.argv[4])
entry = header.pop(sys.argv[3])
entry["shape"] = change.get("shape", entry["shape"])
header[change.get("name", sys.argv[3])] = entry
text = json.dumps(header).encode()
text += b" " * (-len(text) % 8)
open(sys.argv[2], "wb").write(struct.pack("<Q", len(text)) + text + data[8 + size :])
END
experts=model.layers.0.mlp.experts
cp -r "$work/packed" "$work/changed"
# refuse FOLDER TENSOR CHANGE WORDS
refuse()
{
    cp "$1/config.json" "$work/changed/config.json"
    python3 "$work/change.py" "$1/model.safetensors" "$work/changed/model.safetensors" "$2" "$3" || exit 99
    try 3 "$accelctl" trace "$work/changed" --in "$fixture/inputs.safetensors" --out "$work/x"
    one_error "$4"
}
refuse "$work/packed" $experts.down_proj_scales '{"shape": [4, 2, 64]}' "down_proj_scales'"
refuse "$work/packed" $experts.down_proj_scales '{"name": "other_scales"}' "down_proj_blocks': its _scales is missing"
for folder in "$work/packed" "$fixture"; do
    refuse "$folder" $experts.down_proj_bias '{"shape": [64, 4]}' "has shape [64, 4], not [4, 64]"
    refuse "$folder" $experts.down_proj_bias '{"shape": [8, 32]}' "has shape [8, 32], not [4, 64]"
done
refuse "$fixture" $experts.gate_up_proj '{"shape": [8, 64, 40]}' "has shape [8, 64, 40], not [4, 64, 80]"
refuse "$fixture" model.layers.0.self_attn.q_proj.weight '{"shape": [2, 48, 64]}' \
    "has rank 3 and shape [2, 48, 64], not [96, 64]"

# A missing or unknown architecture, and an unknown function, are refused by file and key.
cp "$fixture/model.safetensors" "$work/changed/model.safetensors"
# refuse_config CHANGE WORDS: a change that sed makes of config.json
refuse_config()
{
    sed "$1" "$fixture/config.json" >"$work/changed/config.json"
    try 3 "$accelctl" trace "$work/changed" --in "$fixture/inputs.safetensors" --out "$work/x"
    one_error "$2"
}
refuse_config 's/"model_type": "gpt_oss"/"model_type": 5/' "config.json: model_type is missing or is not a string"
refuse_config '/"model_type"/d' "config.json: model_type is missing or is not a string"
refuse_config 's/gpt_oss/gpt_os/' "config.json: model_type: architecture \"gpt_os\" has no implementation"
refuse_config '/num_key_value_heads/d' "num_key_value_heads is missing"

finish
