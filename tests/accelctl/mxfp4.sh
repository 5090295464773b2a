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

# A plan counts the experts that a token has: one more in each of two layers reads 3 * 64 * 64 weights of BF16 more.
# step USED: bytes of a decode step with so many experts of a token
step()
{
    sed -i "s/\"num_experts_per_tok\": [0-9]*/\"num_experts_per_tok\": $1/" "$work/plain/config.json"
    try 0 "$accelctl" plan "$work/plain" --json
    number speed.0.step_bytes
}
one=$(step 1)
is "$(($(step 2) - one))" $((2 * 3 * 64 * 64 * 2)) "bytes of an expert more"

# Scales of another shape than the codes are refused by name.
python3 - "$work/packed/model.safetensors" <<'END' || exit 99
import json, struct, sys
with open(sys.argv[1], "r+b") as file:
    size = struct.unpack("<Q", file.read(8))[0]
    header = json.loads(file.read(size))
    entry = header["model.layers.0.mlp.experts.down_proj_scales"]
    entry["shape"] = [entry["shape"][0], entry["shape"][2], entry["shape"][1]]
    text = json.dumps(header).encode()
    file.seek(8)
    file.write(text + b" " * (size - len(text)))
END
try 3 "$accelctl" trace "$work/packed" --in "$fixture/inputs.safetensors" --out "$work/x"
one_error "down_proj_scales'"

finish
