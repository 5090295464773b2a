#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Files that are none, damaged files and a hundred truncations of a good one: each ends with one line that names the file.
. "$ACCEL_TEST_SRCDIR/tests/accelctl/lib.sh"

folder=$src/tests/fixtures/malformed
files=0
# With sanitizers a part of the files: unit/format_malformed and the fuzz targets read all of them in one process.
every=1
sanitized && every=5
for path in "$folder"/*.gguf "$folder"/*.safetensors; do
    name=${path##*/}
    expect=$("$json" "$folder/index.json" - "$name") || fail "$name is not in index.json"
    files=$((files + 1))
    [ $((files % every)) = 0 ] || continue
    checks=$((checks + 1))
    "$accelctl" plan "$path" >"$work/out" 2>"$work/err" </dev/null
    status=$?
    # A plan of a family that does not run has the status of a file that cannot be run, and its text has the reason.
    [ $status = 3 ] && grep -q "^verdict *DOES NOT RUN" "$work/out" && status=planned
    case $status:$name in
    0:gguf-valid-llama.gguf) ;;
    # Sound files of a family that nobody knows, or that name none.
    planned:gguf-architecture-unknown.gguf | planned:gguf-no-architecture.gguf)
        try 3 "$accelctl" run "$path"
        one_error "has no implementation" ;;
    # Sound containers of something that does not run here are planned by formula, and the status says so.
    0:* | planned:*) case $expect in *'"expect":"ok"'* | *'"expect":"either"'*) ;; *) fail "$name was accepted";; esac ;;
    # Sound containers that hold no model, and safetensors without a config.json beside them, are no models either.
    3:*.safetensors)
        lines=$(grep -c '^accelctl: ' "$work/err")
        grep -qE "^accelctl: .*/($name: offset 0x|config.json: cannot open)" "$work/err" && [ "$lines" = 1 ] ||
            { cat "$work/err"; fail "$name: not one line that names the file and the offset"; }
        case $expect:$(cat "$work/err") in
        *'"expect":"error"'*config.json*) fail "$name: a damaged file passes as one without config.json" ;;
        esac ;;
    3:*) one_error "$name"
        grep -q 'offset 0x' "$work/err" || { cat "$work/err"; fail "$name: no offset"; } ;;
    *) cat "$work/err"; fail "$name: status $status" ;;
    esac
done
[ $files = 164 ] || fail "$files files, not 164"

size=$(wc -c <"$q8")
cut=0
while [ $cut -lt 100 ]; do
    bytes=$((size * cut / 100))
    head -c $bytes "$q8" >"$work/cut.gguf"
    try 3 "$accelctl" run "$work/cut.gguf" -n 3
    one_error "$work/cut.gguf: "
    cut=$((cut + every))
done

# Numbers of the model that are a text, a fraction or negative: the file is named as well as the key.
for key in llama.attention.head_count llama.block_count llama.embedding_length llama.context_length; do
    at=$(LC_ALL=C grep -aboF -- "$(printf '%s\004' $key)" "$q8" | head -n 1 | cut -d: -f1)
    at=$((at + ${#key}))
    # A text of 28 bytes moves what follows by 32, so that tensors stay aligned.
    {
        head -c $at "$q8"
        printf '\010\000\000\000\034\000\000\000\000\000\000\000a text of twenty-eight bytes'
        tail -c +$((at + 9)) "$q8"
    } >"$work/text.gguf"
    for type in '\006' '\005'; do
        cp "$q8" "$work/number$type.gguf"
        # shellcheck disable=SC2059 # an escape
        printf "$type\\000\\000\\000\\375\\377\\377\\377" |
            dd of="$work/number$type.gguf" bs=1 seek=$at conv=notrunc 2>/dev/null
    done
    for how in 'text:a string, not' 'number\006:a float, not' 'number\005:-3, negative'; do
        for command in plan 'run -n 2'; do
            # shellcheck disable=SC2086 # a command and its options
            try 3 "$accelctl" $command "$work/${how%%:*}.gguf"
            one_error "$work/${how%%:*}.gguf: offset 0x"
            one_error "$key is ${how#*:}"
        done
    done
done

# A weight that is not a number is found when logits are none.
cp "$f32" "$work/nan.gguf"
printf '\000\000\300\177' | dd of="$work/nan.gguf" bs=1 seek=$(($(wc -c <"$f32") - 4000)) conv=notrunc 2>/dev/null
try 3 "$accelctl" run "$work/nan.gguf" -n 2 --device cpu
one_error "$work/nan.gguf: tensor blk.4.ffn_up.weight: value 24 of row 156 is not finite"
try 3 "$accelctl" eval --text "$src/README.md" --tokens 64 "$work/nan.gguf" --device cpu
one_error "$work/nan.gguf: tensor blk.4.ffn_up.weight: value 24 of row 156 is not finite"

# So are values that quantize copies, unless that is requested; quantized vectors are unpacked with the matrices.
for name in nan inf negative-inf; do
    for type in q8_0 f32; do
        try 3 "$accelctl" quantize "$src/tests/fixtures/malformed/gguf-$name-scale.gguf" "$work/scale.gguf" $type
        one_error "gguf-$name-scale.gguf: tensor b: value 0 of row 0 is not finite"
    done
    try 0 "$accelctl" quantize "$src/tests/fixtures/malformed/gguf-$name-scale.gguf" "$work/scale.gguf" f32 --keep b
    has "1 tensor stays Q8_0: unchanged on request"
done
try 0 "$accelctl" quantize "$src/tests/fixtures/malformed/gguf-valid.gguf" "$work/scale.gguf" f32
grep Q8_0 "$work/out" && fail "a vector in Q8_0 beside matrices in F32"

# trace writes what it has, and names the first stage that is not finite.
if command -v python3 >/dev/null; then
    python3 - "$f32" "$work" <<'END' || exit 99
import json, struct, sys
head = json.dumps({"one.input_ids": {"dtype": "I64", "shape": [1, 3], "data_offsets": [0, 24]}}).encode()
head += b" " * (-len(head) % 8)
open(sys.argv[2] + "/ids.safetensors", "wb").write(struct.pack("<Q", len(head)) + head + struct.pack("<3q", 1, 403, 407))
# Values of layer 0 that are over 65504, where F16 ends: blk.0.attn_v.weight is 32 x 64, from byte 170496 on.
data = bytearray(open(sys.argv[1], "rb").read())
data[170496:170496 + 4 * 32 * 64] = struct.pack("<f", 1e6) * (32 * 64)
open(sys.argv[2] + "/large.gguf", "wb").write(data)
END
    try 3 "$accelctl" trace "$work/nan.gguf" -i "$work/ids.safetensors" -o "$work/stages" --device cpu
    one_error "$work/stages is written, and one.layers.4 is its first stage that is not finite (sequence 0, token 0, value 0): "
    one_error "tensor blk.4.ffn_up.weight: value 24 of row 156 is not finite"
    [ -s "$work/stages" ] || fail "trace wrote no stages"
    try 3 "$accelctl" trace "$work/nan.gguf" -i "$work/ids.safetensors" -o "$work/stages" --device cpu --json
    [ "$("$json" "$work/out" - error.code)" = ACCEL_E_CORRUPT ] || fail "trace --json: $(cat "$work/out")"
    # Keys and values that leave F16: the remedy is tried first, works, and goes when it is taken.
    try 1 "$accelctl" run "$work/large.gguf" -q -g -n 3 -p Once --device cpu
    one_error "it computed logits that are not finite, and all weights of"
    grep -q "remedy: --set kv.type=f32, in case .*; --set compute.activations=f32" "$work/err" || fail "remedy: $(cat "$work/err")"
    try 0 "$accelctl" run "$work/large.gguf" -q -g -n 3 -p Once --device cpu --set kv.type=f32
    try 0 "$accelctl" trace "$work/large.gguf" -i "$work/ids.safetensors" -o "$work/stages" --device cpu
    try 1 "$accelctl" run "$work/large.gguf" -q -g -n 3 -p Once --device cpu --set compute.activations=f32
    grep -q "remedy: --set kv.type=f32, in case .*; else try a device" "$work/err" || fail "remedy: $(cat "$work/err")"
fi

# Types that no operator reads in their place: the tensor, its type, what is read, and what to do.
if command -v python3 >/dev/null; then
    cat >"$work/retype.py" <<'END'
import json, os, shutil, struct, sys
source, target, name, dtype = sys.argv[1:]
os.makedirs(target, exist_ok=True)
for file in os.listdir(source):
    if not file.endswith(".safetensors"):
        shutil.copy(source + "/" + file, target)
data = open(source + "/model.safetensors", "rb").read()
size = struct.unpack("<Q", data[:8])[0]
head, body, parts, at = json.loads(data[8:8 + size]), data[8 + size:], [], 0
head.pop("__metadata__", None)
for key, row in head.items():
    values = body[row["data_offsets"][0]:row["data_offsets"][1]]
    if key == name:
        row["dtype"] = dtype
        values = b"\x38" * (len(values) // 4 * {"U8": 1, "I8": 1, "I16": 2, "F64": 8, "F8_E4M3": 1, "F8_E5M2": 1}[dtype])
    row["data_offsets"] = [at, at + len(values)]
    parts.append(values)
    at += len(values)
text = json.dumps(head).encode()
text += b" " * (-len(text) % 8)
open(target + "/model.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + b"".join(parts))
END
    # retyped NAME TYPE WHAT REMEDY
    retyped()
    {
        rm -rf "$work/retyped"
        python3 "$work/retype.py" "$models/hf" "$work/retyped" "$1" "$2" || exit 99
        try 3 "$accelctl" run "$work/retyped" -n 1 --prompt x --device cpu
        one_error "$work/retyped/model.safetensors: offset 0x"
        one_error ": $3"
        grep -q "^  remedy: $4" "$work/err" || { cat "$work/err"; fail "$1 in $2: another remedy"; }
        try 3 "$accelctl" plan "$work/retyped" --device cpu
    }
    matrix="matrices are F32, F16, BF16, F8_E4M3, F8_E5M2 or quantized"
    query=model.layers.1.self_attn.q_proj.weight
    for type in U8 I8 I16; do
        retyped $query $type "matrix '$query' has type $type; $matrix" "take the model in F32, F16, BF16 or a quantized format"
    done
    retyped model.embed_tokens.weight I8 "matrix 'model.embed_tokens.weight' has type I8; $matrix" "take the model in"
    retyped $query F64 "matrix '$query' has type F64; $matrix" "accelctl quantize IN OUT f32 converts it"
    try 0 "$accelctl" quantize "$work/retyped" "$work/mended" f32
    try 0 "$accelctl" run "$work/mended" -g -q -n 2 -p Once
    retyped model.norm.weight U8 "vector 'model.norm.weight' has type U8; vectors are F32, F16 or BF16" "take the model in"
    for type in F8_E4M3 F8_E5M2; do
        retyped model.norm.weight $type "vector 'model.norm.weight' has type $type; vectors are F32, F16 or BF16" \
            "accelctl quantize IN OUT f32 --role norm=f32 converts it"
    done
    rm -rf "$work/mended"
    try 0 "$accelctl" quantize "$work/retyped" "$work/mended" f32 --role norm=f32
    try 0 "$accelctl" run "$work/mended" -g -q -n 2 -p Once
fi

# Weights whose scales are tensors of their own would give wrong results without them.
if command -v python3 >/dev/null; then
    mkdir "$work/scaled"
    cp "$src/tests/fixtures/llama-gqa/config.json" "$work/scaled"
    for scale in weight_scale_inv weight_scale weight.scale scale_inv; do
    python3 - "$src/tests/fixtures/llama-gqa/model.safetensors" "$work/scaled/model.safetensors" $scale <<'END' || exit 99
import json, struct, sys
data = open(sys.argv[1], 'rb').read()
size = struct.unpack('<Q', data[:8])[0]
head = json.loads(data[8:8 + size])
end = len(data) - 8 - size
head['model.layers.0.self_attn.q_proj.' + sys.argv[3]] = {'dtype': 'F32', 'shape': [1, 1], 'data_offsets': [end, end + 4]}
text = json.dumps(head).encode()
open(sys.argv[2], 'wb').write(struct.pack('<Q', len(text)) + text + data[8 + size:] + struct.pack('<f', 0.5))
END
    try 3 "$accelctl" run "$work/scaled" -n 1 --prompt x
    one_error "q_proj.$scale': scales of"
    done
fi

try 3 "$accelctl" plan "$work/nothing.gguf"
one_error "$work/nothing.gguf"
: >"$work/empty"
try 3 "$accelctl" plan "$work/empty"
one_error "$work/empty"
mkdir "$work/folder"
try 3 "$accelctl" plan "$work/folder"
one_error "$work/folder"
ln -s loop2 "$work/loop1"
ln -s loop1 "$work/loop2"
try 3 "$accelctl" plan "$work/loop1"
one_error "$work/loop1"
try 3 "$accelctl" plan /dev/null
one_error /dev/null
mkfifo "$work/fifo" && try 3 "$accelctl" plan "$work/fifo" && one_error "$work/fifo"
bad=$(printf '%s/new\nline' "$work")
try 3 "$accelctl" plan "$bad"
one_error "new"
try 3 "$accelctl" plan "$work/$(printf '\377')" --json
"$json" "$work/out" accelctl/error/1 || fail "a name that is not UTF-8, as JSON"
try 3 "$accelctl" trace "$q8" --in "$work/empty" --out "$work/stages"
one_error "$work/empty"
mkdir "$work/profiles"
echo "accel-profile: 9" >"$work/profiles/base.yaml"
"$accelctl" plan "$q8" --profiles "$work/profiles" >"$work/out" 2>"$work/err"
[ $? = 3 ] || { cat "$work/err"; fail "a broken profile"; }
grep -q "base.yaml" "$work/err" || fail "the broken profile is not named"
# A function that nothing here computes is refused by its key and file.
cp -r "$models/hf" "$work/activation" && chmod -R u+w "$work/activation"
sed -i 's/"hidden_act": "[a-z]*"/"hidden_act": "silux"/' "$work/activation/config.json"
try 3 "$accelctl" run "$work/activation" --prompt Once -n 2
one_error 'activation/config.json: hidden_act "silux" has no implementation here'
# Without weights as well; and a config.json that cannot be opened is named.
rm "$work/activation/model.safetensors"
try 3 "$accelctl" plan "$work/activation"
one_error 'activation/config.json: hidden_act "silux" has no implementation here'
ln -sf config.json "$work/activation/config.json"
try 3 "$accelctl" plan "$work/activation"
one_error 'activation/config.json: cannot open: '

# Ids of tokens that no vocabulary has are told as the file has them.
at=$(LC_ALL=C grep -aboF -- "$(printf 'tokenizer.ggml.bos_token_id\004')" "$q8" | head -n 1 | cut -d: -f1)
cp "$q8" "$work/bos.gguf"
printf '\377\377\377\377' | dd of="$work/bos.gguf" bs=1 seek=$((at + 31)) conv=notrunc 2>/dev/null
try 3 "$accelctl" run "$work/bos.gguf" -n 2 -p Once
one_error "bos.gguf: tokenizer.ggml.bos_token_id is 4294967295, outside of the vocabulary"

finish
