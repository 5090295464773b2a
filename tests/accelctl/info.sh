#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What accelctl info says of files of each kind: sound, sharded, packed, without weights, hostile, damaged.
. "$ACCEL_TEST_SRCDIR/tests/accelctl/lib.sh"

# origins WHAT: no number of the document in $work/out is without an origin.
origins()
{
    checks=$((checks + 1))
    "$json" "$work/out" --origins >"$work/missing" || { head -5 "$work/missing"; fail "numbers without origins: $1"; }
}

# A GGUF file whose types other programs do not have names its layout.
try 0 "$accelctl" quantize --type nf4 "$f32" "$work/planes.gguf"
try 0 "$accelctl" info "$work/planes.gguf"
has "layout         accel 1 (quant/LAYOUT.md): for programs over libaccel-model, not for llama.cpp"

# A GGUF file: text, document, tensors.
try 0 "$accelctl" info "$q8"
has "GGUF Q8_0, 1 file"
has "runs here"
has "260032 parameters (260 k)"
grep -qE '^tokenizer +llama, pre default: 512 tokens$' "$work/out" || fail "no tokenizer"
grep -qE '^ +bos +1 +<s>$' "$work/out" || fail "no begin token"
grep -qE '^  tokenizer.ggml.tokens +arr\[str,512\] +\["<unk>".* ... of 512$' "$work/out" || fail "a list is not shortened"
grep -qE '^  llama.block_count +u32 +5$' "$work/out" || fail "no key with its type and value"
grep -q '^tensors' "$work/out" && fail "tensors without --tensors"
cp "$work/out" "$work/text"
try 0 "$accelctl" show "$q8"
cmp "$work/out" "$work/text" || fail "show is not info"
try 0 "$accelctl" info --json "$q8"
"$json" "$work/out" accelctl/info/1 || fail "no document of that schema"
origins "info"
is "$(value weights.parameters) $(value file_type)" "260032 Q8_0" "parameters and file type"
is "$(value files.0.bytes)" "$(wc -c <"$q8" | tr -d ' ')" "bytes of the file"
is "$(value architecture.runs) $(value tokenizer.runs) $(value chat_template)" "true true null" "what runs"
is "$(value 'architecture.facts.model.layers' 2>"$work/err" || sed -n 's/.*"model.layers": "\(.*\)",*/\1/p' "$work/out")" 5 \
    "layers"
[ "$(grep -c '"<0x0[0-9]>"' "$work/out")" = 5 ] || fail "a list of a document is not 8 elements long"
try 0 "$accelctl" info --json --all "$q8"
[ "$(grep -c '"<0x0[0-9]>"' "$work/out")" = 10 ] || fail "--all does not show the whole list"
# Bits per weight are those of the bytes of all tensors, as quantize counts them.
try 0 "$accelctl" quantize --json "$f32" "$work/q4.gguf" Q4_K_M
bits=$(value bits_per_weight)
try 0 "$accelctl" info --json --tensors "$work/q4.gguf"
is "$(value weights.bits_per_weight) $(value file_type)" "$bits Q4_K_M" "bits per weight of a mix"
is "$(value tensors.0.name) $(value tensors.0.shape.0) $(value tensors.0.shape.1) $(value tensors.0.type)" \
    "token_embd.weight 512 64 Q8_0" "the first tensor"
# The place of a tensor: its bytes lie there.
try 0 "$accelctl" info --json --tensors "$f32"
offset=$(number tensors.0.offset)
bytes=$(number tensors.0.bytes)
[ $((offset + bytes)) -le "$(wc -c <"$f32")" ] && [ "$bytes" = $((512 * 64 * 4)) ] || fail "place of the first tensor"
try 0 "$accelctl" info --tensors "$f32"
grep -qE "^  token_embd.weight +512 x 64  F32 +$bytes  $offset$" "$work/out" || fail "no row of the first tensor"

# Folders: config.json, __metadata__, several files, packed matrices.
try 0 "$accelctl" info "$models/hf"
grep -qE '^  num_hidden_layers +int +5$' "$work/out" || fail "no config.json"
grep -qE '^  __metadata__.format +str +pt$' "$work/out" || fail "no __metadata__"
has "BPE: 512 tokens, 165 merges"
try 0 "$accelctl" quantize --type q4 --group 32 --keep '*.mlp.*' "$models/hf" "$work/packed"
try 0 "$accelctl" info --json --tensors "$work/packed"
origins "info of a packed folder"
is "$(value weights.parameters) $(value weights.types.1.type)" "260032 q4_g32" "matrices of GPTQ's layout"
sed -n 's/.*"bytes": \([0-9]*\),*/\1/p' "$work/out" >"$work/numbers"
# Orders of columns and zero points of that layout count: more than the 4.5 bits of its digits and scales.
value weights.bits_per_weight | awk '{ exit !($1 > 25.6 && $1 < 25.8) }' || fail "bits of a packed folder"
mkdir "$work/shards"
cp "$models/hf/config.json" "$work/shards"
cp "$models/hf/model.safetensors" "$work/shards/model-00001-of-00001.safetensors"
try 0 "$accelctl" info --json --tensors "$models/hf"
{
    printf '{"metadata": {}, "weight_map": {'
    sed -n 's/^ *"name": \("[^"]*"\),$/\1/p' "$work/out" | sed 's/$/: "model-00001-of-00001.safetensors"/' | paste -sd, -
    printf '}}'
} >"$work/shards/model.safetensors.index.json"
try 0 "$accelctl" info "$work/shards"
has "47 tensors, 260032 parameters"
grep -qE '^tokenizer +none$' "$work/out" || fail "a tokenizer that is not there"

# Families that do not run are described, and the reason is given.
sed 's/"model_type": "llama"/"model_type": "gpt_neox"/; s/LlamaForCausalLM/GPTNeoXForCausalLM/' "$models/hf/config.json" \
    >"$work/shards/config.json"
try 0 "$accelctl" info "$work/shards"
has "does not run here:"
has "47 tensors, 260032 parameters"
try 0 "$accelctl" info --json "$work/shards"
is "$(value architecture.runs)" false "a family that does not run"
[ -n "$(value architecture.why)" ] || fail "no reason"

# A vocabulary without weights, as llama.cpp has them for tests: here the header counts no tensor.
cp "$f32" "$work/vocabulary.gguf"
chmod u+w "$work/vocabulary.gguf"
printf '\000\000\000\000\000\000\000\000' | dd of="$work/vocabulary.gguf" bs=1 seek=8 conv=notrunc 2>"$work/err"
try 0 "$accelctl" info "$work/vocabulary.gguf"
grep -qE '^weights +none$' "$work/out" || fail "weights of a vocabulary"
has "holds no weights"
has "usable here"
mkdir "$work/words"
cp "$models/hf/tokenizer.json" "$work/words"
try 0 "$accelctl" info "$work/words"
has "BPE: 512 tokens"
try 0 "$accelctl" info --json "$work/words/tokenizer.json"
is "$(value weights) $(value tokenizer.tokens)" "null 512" "a tokenizer.json alone"
origins "info of a tokenizer"

# A tokenizer.json that is none says so, in both forms.
for text in '{"model": {}}' '{}' '[]' 'x' '' '{"model": {"type": 1, "vocab": [], "merges": {}}}'; do
    printf '%s' "$text" >"$work/words/tokenizer.json"
    try 0 "$accelctl" info "$work/words"
    has "not usable here:"
    try 0 "$accelctl" info --json "$work/words"
    is "$(value tokenizer.runs)" false "a tokenizer of $text"
    try 3 "$accelctl" tokenize "$work/words" a
done

# Chat templates: whole, byte for byte; a broken one is told.
cp -r "$models/hf" "$work/chat"
chmod -R u+w "$work/chat"
printf '{%% for m in messages %%}\n{{ m.content }}\033[2J\n{%% endfor %%}' >"$work/chat/chat_template.jinja"
try 0 "$accelctl" info --template "$work/chat"
cmp "$work/out" "$work/chat/chat_template.jinja" || fail "--template is not the template"
try 0 "$accelctl" info "$work/chat"
has "renders here"
if command -v script >/dev/null; then
    script -qec "'$accelctl' info --template '$work/chat'" /dev/null >"$work/out" 2>&1
    grep -q "$(printf '\033')\[2J" "$work/out" && fail "a template clears the terminal"
    has "{{ m.content }}?[2J"
else
    echo "skipped: script is not here to print to a terminal"
fi
printf '{%% if %%}' >"$work/chat/chat_template.jinja"
try 0 "$accelctl" info "$work/chat"
has "does not render here:"
try 3 "$accelctl" info --template "$q8"
one_error "has no chat template"

# Hostile values reach the terminal as question marks, and a document whole.
LC_ALL=C sed "s/stories260K/sto$(printf '\033')[2Jes60/" "$f32" >"$work/hostile.gguf"
cmp -s "$f32" "$work/hostile.gguf" && fail "the name was not replaced"
try 0 "$accelctl" info "$work/hostile.gguf"
grep -q "$(printf '\033')" "$work/out" && fail "a value is a command to the terminal"
has "sto?[2Jes60"
try 0 "$accelctl" info --json "$work/hostile.gguf"
grep -qF 'sto\u001B[2Jes60' "$work/out" || fail "a value of a document was changed"

# The name of a tokenizer may fill the line: what stands behind it is cut, and the document has it whole.
if command -v python3 >/dev/null; then
    for bytes in 380 388 392 396 400 420; do
        name=$(printf "%${bytes}s" | tr ' ' m)
        python3 - "$f32" "$work/long.gguf" "$name" <<'END' || exit 99
import struct, sys
data = open(sys.argv[1], "rb").read()
name, pre = sys.argv[3].encode(), b"hostile" * 60
pre += b"." * (-(len(name) + len(pre) - len(b"llamadefault")) % 32)  # the data keep their alignment
for key, value in (b"tokenizer.ggml.model", name), (b"tokenizer.ggml.pre", pre):
    at = data.index(struct.pack("<Q", len(key)) + key) + 8 + len(key) + 4
    end = at + 8 + struct.unpack("<Q", data[at:at + 8])[0]
    data = data[:at] + struct.pack("<Q", len(value)) + value + data[end:]
open(sys.argv[2], "wb").write(data)
END
        try 0 "$accelctl" info "$work/long.gguf"
        grep -qE '^tokenizer +mmmm.*(\.\.\.|, pre hostile)' "$work/out" || fail "the line of a name of $bytes bytes"
        try 0 "$accelctl" info --json "$work/long.gguf"
        is "$(value tokenizer.model)" "$name" "a name of $bytes bytes"
    done
else
    echo "skipped: python3 is not here to write a hostile tokenizer"
fi

# What cannot be read: the file, the place, the exit code.
head -c 3000 "$f32" >"$work/short.gguf"
try 3 "$accelctl" info "$work/short.gguf"
one_error "short.gguf: offset 0x"
try 3 "$accelctl" info "$work/none.gguf"
one_error "none.gguf: cannot open"
try 3 "$accelctl" info --json "$work/none.gguf"
"$json" "$work/out" accelctl/error/1 || fail "an error as JSON"
mkdir "$work/empty"
try 3 "$accelctl" info "$work/empty"
one_error "has neither model.safetensors nor model.safetensors.index.json nor a GGUF file"
# A folder with a GGUF model is that model, whatever lies beside it; of several one is chosen by its path.
mkdir "$work/one" "$work/two"
cp "$f32" "$work/one/small.gguf"
echo "about it" >"$work/one/README.md"
cp "$q8" "$work/one/.hidden.gguf"
try 0 "$accelctl" info "$work/one"
has "GGUF F32, 1 file"
try 0 "$accelctl" run "$f32" -q -n 8 --greedy -p Once
cp "$work/out" "$work/wanted"
try 0 "$accelctl" run "$work/one/" -q -n 8 --greedy -p Once
cmp "$work/out" "$work/wanted" || fail "a folder with a GGUF file generates another text"
try 0 "$accelctl" quantize "$work/one" "$work/smaller.gguf" Q4_0
try 2 "$accelctl" quantize "$work/one" "$work/one" Q4_0
try 2 "$accelctl" quantize "$work/one" "$work/one/small.gguf" Q4_0
one_error "is the file that is read"
for name in a b c d e f; do
    cp "$q8" "$work/two/$name.gguf"
done
try 3 "$accelctl" info "$work/two"
one_error "the folder has 6 GGUF models: 'a.gguf', 'b.gguf', 'c.gguf', 'd.gguf' and 2 more"
grep -q "remedy: choose one: give the path of the file" "$work/err" || fail "several GGUF models: no remedy"
try 2 "$accelctl" info
one_error "requires an argument"
for file in "$src"/tests/fixtures/malformed/*; do
    checks=$((checks + 1))
    "$accelctl" info "$file" >"$work/out" 2>"$work/err"
    [ $? -le 3 ] || fail "$file: status above 3"
done

# A sliding window of the model: its tokens and layers, and what it does to the KV cache.
window=$src/tests/fixtures/mistral-window
try 0 "$accelctl" info "$window"
has "sliding window of 8 tokens in 2 layers"
try 0 "$accelctl" info "$window" --json
is "$(value architecture.sliding_window.tokens)" 8 "the sliding window"
try 0 "$accelctl" plan "$window" --device cpu --json
is "$(value model.sliding_window.layers)" 2 "layers with a sliding window"
for set in off 16; do
    try 0 "$accelctl" plan "$window" --device cpu --set kv.window=$set
    tr -s ' \n' '  ' <"$work/out" >"$work/line"
    grep -qF "sliding window of 8 tokens in 2 of 2 layers: a token attends to these alone; the KV cache " \
        "$work/line" || fail "no sliding window: $(cat "$work/out")"
done
grep -qF "the KV cache drops what kv.window=16 leaves out" "$work/line" || fail "kv.window beside the model's: $(cat "$work/out")"
# By its config.json alone: the window, keys and values of the whole model.
mkdir "$work/lone"
cp "$window/config.json" "$work/lone"
state()
{
    try 0 "$accelctl" plan "$1" --device cpu --json
    for row in 0 1 2 3 4 5; do
        [ "$(value memory.classes.$row.class)" != state ] || value memory.classes.$row.bytes
    done
}
whole=$(state "$window")
[ "${whole:-0}" -gt 0 ] || fail "no bytes of keys and values"
is "$(state "$work/lone")" "$whole" "keys and values by config.json"
is "$(value model.sliding_window.tokens) $(value model.sliding_window.layers)" "8 2" "the window by config.json"
try 0 "$accelctl" plan "$work/lone" --device cpu
has "sliding window of 8 tokens in 2 of 2 layers"
# And what it is, without weights, by the folder or the file.
sed -i 's/"dtype": "float32"/"dtype": "bfloat16"/' "$work/lone/config.json"
for path in "$work/lone" "$work/lone/config.json"; do
    try 0 "$accelctl" info "$path"
    has "config.json alone, without weights"
    has "mistral, generation, 2 layers, hidden 72, ffn 136, 4 heads, 2 KV heads, head size 24"
    has "parameters in bf16"
    has "sliding window 8 tokens, in 2 layers"
    tr -s ' \n' '  ' <"$work/out" | grep -qF "download the weights into its folder; accelctl plan $path plans it" ||
        { cat "$work/out"; fail "no remedy for a config.json alone"; }
done
try 0 "$accelctl" info "$work/lone" --json
is "$(value format) $(value weights) $(value architecture.runs)" "config.json null false" "a config.json alone"
origins "info of a config.json"
try 0 "$accelctl" plan "$work/lone" --device cpu
has "bf16 "
: >"$work/lone/config.json"
try 3 "$accelctl" plan "$work/lone"
one_error "config.json: offset 0x0: the file is empty"
grep -qx "  remedy: download config.json again, or copy it from the model" "$work/err" || fail "an empty config.json has no remedy"
try 0 "$accelctl" info "$models/hf"
! grep -q "sliding" "$work/out" || fail "a model without a window has one"

# A name of the folder models, without a file: what its description states.
try 0 "$accelctl" info llama-2-7b
has "description of the folder models, without a file (profile: llama-2-7b.yaml:"
has "none; a model of 6.738 B parameters"
has "llama, generation, 32 layers, hidden 4096, ffn 11008, 32 heads, 32 KV heads"
has "an output matrix of its own"
grep -qE '^ +shapes of huggingface.co/meta-llama' "$work/out" || fail "the source of a description has no line"
tr -s ' \n' '  ' <"$work/out" | grep -qF "accelctl plan llama-2-7b plans it without one" || { cat "$work/out"; fail "no command plans the name"; }
! grep -q "^tokenizer" "$work/out" || fail "a description has a tokenizer"
try 0 "$accelctl" info -m llama-2-7b --json
is "$(value format) $(value architecture.runs)" "description false" "a description"
has '"model.layers": "32"'
try 2 "$accelctl" info llama-2-7b --tensors
one_error "info: --tensors requires a file, and llama-2-7b is the name of a description"
try 3 "$accelctl" info llama-2-7bb
one_error "llama-2-7b"

finish
