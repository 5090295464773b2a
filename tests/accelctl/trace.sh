#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# accelctl trace against the reference: every stage of every case within the fixture's tolerance, in one pass and token by
# token.
. "$ACCEL_TEST_SRCDIR/tests/accelctl/lib.sh"

found=0
for fixture in $(family_fixtures) llama-mha llama-attention-bias gpt2-large-ish phi4-mini-like; do
    [ $fixture != llama-rope-dynamic ] || continue # a case is longer than the context
    place "$fixture"
    [ -d "$folder" ] || continue
    found=$((found + 1))
    ways="pass --stepwise"
    # Beyond the original length cached keys have other frequencies than those of one pass.
    case $fixture in phi3-longrope | phi4-mini-like) ways=pass ;; esac
    for way in $ways; do
        [ $way != pass ] || way=
        rm -f "$work/stages.safetensors"
        # shellcheck disable=SC2086
        try 0 "$accelctl" trace "$folder" --in "$folder/inputs.safetensors" --out "$work/stages.safetensors" $way
        "$stages" "$work/stages.safetensors" "$folder/expected.safetensors" "$folder/fixture.json" ||
            fail "$fixture $way: the stages differ"
    done
done
[ $found -ge 4 ] || fail "$found fixtures, at least 4 are in the tree"
folder=$src/tests/fixtures/llama-gqa
try 0 "$accelctl" trace "$folder" --in "$folder/inputs.safetensors" --out "$work/stages.safetensors" --json
"$json" "$work/out" accelctl/trace/1 || fail "trace --json"
is "$(value stages)" 21 "stages"
# A pass in several steps has no stages of its own: it is refused, not filled with what the last step left.
try 3 "$accelctl" trace "$folder" --in "$folder/inputs.safetensors" --out "$work/stages.safetensors" --set kv.full=slide \
    --set context=64
one_error "took several steps"
# A file of ids is a safetensors file; where they come from is said.
echo "Once upon a time" >"$work/text"
try 3 "$accelctl" trace "$folder" --in "$work/text" --out "$work/stages.safetensors"
one_error "is neither GGUF nor safetensors"
grep -q "remedy: --in FILE is a safetensors file of token ids: .*accelctl tokenize MODEL TEXT" "$work/err" || fail "a text has no remedy"
# A case that the context does not hold is wrong usage, as a prompt of run is.
try 2 "$accelctl" trace "$folder" --in "$folder/inputs.safetensors" --out "$work/stages.safetensors" --set context=4
one_error "tokens do not fit: the context of 4 tokens holds 0 so far"
# Settings that the command fixes are refused from the user, whatever they are called, and not overruled in silence.
for option in "-ctk q8_0:kv.type.k=q8" "-ctv f16:kv.type.v=f16" "-b 2:batch=2" "--set kv.type=q8:kv.type=q8" \
    "--set compute.activations=q8:compute.activations=q8"; do
    # shellcheck disable=SC2086 # words
    try 2 "$accelctl" trace "$folder" --in "$folder/inputs.safetensors" --out "$work/x" ${option%%:*}
    one_error "command line ${option%%:*}: ${option#*:} has no effect, since "
    grep -q "^  remedy: leave it out" "$work/err" || fail "no remedy for ${option%%:*}"
done
try 0 "$accelctl" trace "$folder" --in "$folder/inputs.safetensors" --out "$work/x" -ctk f32 --set kv.type=f32
# What does not fit names the memory as well as the cases.
try 5 "$accelctl" trace "$q8" --in "$folder/inputs.safetensors" --out "$work/x" --set memory.device=1MiB
grep -q "^  remedy: shorter cases .*memory.device" "$work/err" || { cat "$work/err"; fail "no remedy for a small device"; }
# A file of another model's stages is seen to differ: the comparison can fail.
"$stages" "$work/stages.safetensors" "$src/tests/fixtures/qwen2-tied/expected.safetensors" "$folder/fixture.json" \
    2>"$work/err" && fail "stages of another model are equal"
try 2 "$accelctl" trace "$folder"
one_error "--in FILE"
try 3 "$accelctl" trace "$folder" --in "$folder/model.safetensors" --out "$work/x"
one_error "input_ids"
try 1 "$accelctl" trace "$folder" --in "$folder/inputs.safetensors" --out "$work/none/x"
one_error "$work/none/x"
# A model of ids alone writes no text.
try 3 "$accelctl" run "$folder" -n 1 --prompt x
one_error "tokenizer.json"
grep -q "remedy: .*accelctl trace runs ids" "$work/err" || fail "no remedy: $(cat "$work/err")"
# What is written takes no file's place that is read, and no device's.
cp "$q8" "$work/model.gguf"
mkfifo "$work/fifo"
try 2 "$accelctl" trace "$work/model.gguf" -i "$work/model.gguf" -o "$work/model.gguf"
one_error 'would overwrite a file that is read'
try 2 "$accelctl" trace "$work/model.gguf" -i "$q8" -o "$work/model.gguf"
one_error 'would overwrite a file that is read'
try 2 "$accelctl" trace "$work/model.gguf" -i "$q8" -o "$work/fifo"
one_error 'is not a regular file'
cmp -s "$q8" "$work/model.gguf" || fail 'the model was overwritten'

finish
