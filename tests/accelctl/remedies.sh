#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Everyday mistakes with files, values and options: each is one line with one line of what can be done, and the same in
# JSON.
. "$ACCEL_TEST_SRCDIR/tests/accelctl/lib.sh"

cp "$q8" "$work/m.gguf"
mkdir "$work/empty"
: >"$work/zero.gguf"
echo hi >"$work/text.gguf"
head -c 5000 "$q8" >"$work/cut.gguf"
head -c 5000 /dev/zero >"$work/zeros.gguf"
printf '{"a": 1}\n' >"$work/line.txt"
echo "Once upon a time there was a little girl." >"$work/text.txt"
cp "$q8" "$work/locked.gguf"
chmod 000 "$work/locked.gguf"
cd "$work" || exit 99

# remedied COMMAND...: fails with an error that has a remedy, in words and in JSON.
remedied()
{
    checks=$((checks + 1))
    "$@" >out 2>err </dev/null
    status=$?
    [ $status -ge 2 ] && [ $status -le 5 ] || [ $status = 1 ] || fail "status $status of: $*"
    [ "$(grep -c '^accelctl: ' err)" = 1 ] || { cat err; fail "not one error: $*"; }
    grep -q '^  remedy: .' err || { cat err; fail "no remedy: $*"; }
    "$@" --json >out 2>err </dev/null
    is $? $status "status with --json of: $*"
    [ -n "$(value error.remedy)" ] || { cat out; fail "no remedy in JSON: $*"; }
}

# Files: not there, no model, damaged, not to be read.
files="none.gguf none/none.gguf empty zero.gguf text.gguf cut.gguf zeros.gguf /dev/null lama-2-7b"
[ "$(id -u)" = 0 ] || files="$files locked.gguf"
for file in $files nofile ""; do
    remedied "$accelctl" run "$file" -n 2
    remedied "$accelctl" plan "$file"
    remedied "$accelctl" bench decode "$file"
    remedied "$accelctl" quantize "$file" out.gguf
    remedied "$accelctl" eval --text text.txt "$file"
    remedied "$accelctl" eval --against "$file" m.gguf
    remedied "$accelctl" profile show --model "$file"
    remedied "$accelctl" bench decode m.gguf --against "$file"
done
for file in none.txt empty zero.gguf zeros.gguf /dev/null; do
    remedied "$accelctl" quantize m.gguf out.gguf --calib "$file"
    remedied "$accelctl" eval --text "$file" m.gguf
done
for file in none.txt empty zeros.gguf; do remedied "$accelctl" run m.gguf --prompt-file "$file"; done
for file in none.txt empty zeros.gguf line.txt; do remedied "$accelctl" run m.gguf --prompts "$file"; done
for file in none.yaml empty zero.gguf text.gguf zeros.gguf; do
    try 3 "$accelctl" profile lint "$file"
    grep -q '^  remedy: ' out || { cat out; fail "no remedy: profile lint $file"; }
    try 3 "$accelctl" profile lint "$file" --json
    [ -n "$(value findings.0.remedy)" ] || fail "no remedy in JSON: profile lint $file"
done

# Parts of a model given in place of its folder, and folders with something missing.
# part FILE WORDS REMEDY: each command that takes a model says what it is, and what to name or download.
commands="run -n 2,plan,info,quantize --dry-run,bench decode"
part()
{
    echo "$commands" | tr , '\n' >list
    while read -r command; do
        # shellcheck disable=SC2086
        remedied "$accelctl" $command "$1"
        # shellcheck disable=SC2086
        "$accelctl" $command "$1" >out 2>err </dev/null
        grep -qF ": $2" err || { cat err; fail "$command $1: no '$2'"; }
        grep -q "^  remedy: $3" err || { cat err; fail "$command $1: another remedy"; }
    done <list
}
mkdir shards
cp "$models/hf/config.json" shards
printf '{"metadata": {}, "weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}}' \
    >shards/model.safetensors.index.json
header='{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
{ printf '\066\0\0\0\0\0\0\0%s' "$header" && printf '\0\0\0\0'; } >shards/model-00001-of-00002.safetensors
part shards/model-00001-of-00002.safetensors "is one of several files of a model" "name the folder of the model: shards"
part shards/model.safetensors.index.json "is the index of a model in several files" "name the folder of the model: shards"
# A plan, a run and a description take the config.json beside weights as its folder.
commands="quantize --dry-run"
part shards/config.json "is JSON, neither GGUF nor safetensors" "name the folder of the model: shards"
commands="run -n 2,plan,info,bench decode"
part shards/config.json "cannot open: No such file" "a file of the model is missing that model.safetensors.index.json names: download it"
for command in plan info "run -n 2 -q --greedy -p Once"; do
    # shellcheck disable=SC2086 # a command and its options
    try 0 "$accelctl" $command "$models/hf/config.json"
done
try 0 "$accelctl" plan "$models/hf/config.json"
has "FITS on cpu:cpu0"
has "model      $models/hf"
commands="run -n 2,plan,info,quantize --dry-run,bench decode"
part shards "cannot open: No such file" "a file of the model is missing that model.safetensors.index.json names: download it"
rm shards/model.safetensors.index.json
part shards "the folder has 'model-00001-of-00002.safetensors', one of several files of a model, but no model.safetensors" \
    "download the model.safetensors.index.json"
part shards/model-00001-of-00002.safetensors "is one of several" "download model.safetensors.index.json and all shards"
rm shards/model-00001-of-00002.safetensors
# A config.json alone can be planned and described; a run names the files that are missing.
commands="run -n 2,quantize --dry-run,bench decode"
part shards "the folder has neither" "download the weights into the folder, beside its config.json"
commands="run -n 2,bench decode"
part shards/config.json "the folder has neither model.safetensors" "download the weights into the folder"
for target in shards shards/config.json; do
    try 0 "$accelctl" plan "$target"
    has "by formula shards: the folder has neither model.safetensors nor"
    try 0 "$accelctl" plan "$target" --json
    is "$(value facts.model.parameters.value)" 260032 "the parameters of $target"
done
sed 's/"llama"/"llama_next"/' "$models/hf/config.json" >shards/config.json
for command in plan run; do
    try 3 "$accelctl" $command shards
    one_error 'shards/config.json: model_type: architecture "llama_next" has no implementation here'
    grep -q "^  remedy: near it: llama; accelctl info --help lists" "$work/err" || fail "no near family: $command"
done
# A multimodal model is not damaged, although its layers are not at the top of its config.json.
printf '{"model_type": "gemma3", "text_config": {"model_type": "gemma3_text", "num_hidden_layers": 5}, "vision_config": {}}' \
    >shards/config.json
for command in plan "run -n 2" info; do
    # shellcheck disable=SC2086 # a command and its options
    try 3 "$accelctl" $command shards
    one_error 'shards/config.json: model_type: architecture "gemma3" with a text_config (multimodal) has no implementation'
done
cp "$models/hf/model.safetensors" shards
try 3 "$accelctl" plan shards
has "DOES NOT RUN"
has "with a text_config (multimodal)"
rm shards/model.safetensors shards/config.json
mkdir shards/config.json
remedied "$accelctl" plan shards
mkdir bare
cp "$models/hf/model.safetensors" bare
for command in "run -n 2" "quantize --dry-run" "bench decode"; do
    # shellcheck disable=SC2086
    remedied "$accelctl" $command bare
    # shellcheck disable=SC2086
    "$accelctl" $command bare >out 2>err </dev/null
    grep -q "^  remedy: a model in safetensors needs its config.json in the folder of the weights" err ||
        { cat err; fail "$command: a folder without config.json"; }
done
try 3 "$accelctl" plan bare
has "has no config.json beside it"

# What a config.json says, key by key: of another kind of model, of no kind at all, gone.
while read -r change; do
    rm -rf changed
    mkdir changed
    cp "$src"/tests/fixtures/qwen2-tied/* changed/
    chmod 644 changed/config.json
    sed "$change" "$src/tests/fixtures/qwen2-tied/config.json" >changed/config.json
    cmp -s "$src/tests/fixtures/qwen2-tied/config.json" changed/config.json && fail "nothing is changed by $change"
    remedied "$accelctl" run changed -n 2
done <<'END'
s/"silu"/"mish"/
s/"silu"/7/
s/Qwen2ForCausalLM/NobodyKnows/
s/Qwen2ForCausalLM/Bert/;s/"qwen2"/"bert"/
s/"full_attention"/"linear_attention"/
s/"rope_type": "default"/"rope_type": "spiral"/
s/"num_attention_heads": 4/"num_attention_heads": 5/
s/"num_key_value_heads": 2/"num_key_value_heads": 3/
s/"num_hidden_layers": 2/"num_hidden_layers": 3/
s/"num_hidden_layers": 2/"num_hidden_layers": -2/
s/"vocab_size": 288/"vocab_size": 1/
s/"hidden_size": 72/"hidden_size": "many"/
s/"hidden_size": 72,//
s/^{/[/
s/"tie_word_embeddings": true/"tie_word_embeddings": false/
s/"eos_token_id": 2/"eos_token_id": 100000/
END

# Options and values that every command has.
for command in "run m.gguf -n 2" "plan m.gguf" "bench decode m.gguf" "eval --text text.txt m.gguf" "profile show cpu"; do
    while read -r option; do
        # shellcheck disable=SC2086
        case $command:$option in
        profile*cpu.*) ;;
        *) remedied "$accelctl" $command $option ;;
        esac
    done <<'END'
--device none7
--profiles /nope
--drivers /nope
--host /nope.json
--host m.gguf
--set batch
--set batch=abc
--set batch=12MiB
--set memory.budget=12
--set batsh=1tok
--set sequences=0
--set kv.type.k=q5
--set cpu.none=1
--set cpu.isa=none
--set cpu.threads=4096
--client nobody
--what
END
done

# One of two settings that belong together: what was asked for stays, and the other one is named.
try 2 "$accelctl" run m.gguf -n 2 -p x --set kv.prune=usage
one_error "command line --set kv.prune=usage: kv.prune=usage needs kv.full=prune"
grep -qx "  remedy: add --set kv.full=prune" "$work/err" || fail "no remedy of kv.prune"
try 2 "$accelctl" run m.gguf -n 2 -p x --set kv.full=prune
one_error "kv.full=prune needs kv.prune"

try 2 "$accelctl" run m.gguf -sys X -p Hi
grep -q "^  remedy: add --chat (-cnv)" "$work/err" || fail "no remedy of --system"
try 2 "$accelctl" run m.gguf --json --json-lines -p Hi
is "$(value error.text)" "run: --json and --json-lines exclude each other" "two kinds of JSON"
cp -r "$src/tests/fixtures/qwen2-tied" other
chmod -R u+w other
cp "$src/tests/fixtures/tokenizers/tiny-bpe/tokenizer.json" other/
try 2 "$accelctl" run other -n 2
one_error "the prompt is empty, and no token stands before a text of this model (it has no BOS token)"
grep "^note" "$work/err" && fail "a note on a text that is refused"
try 3 "$accelctl" eval --text text.txt --against other m.gguf
one_error "they are no versions of one model"
grep -q "^  remedy: compare files of one model" "$work/err" || { cat "$work/err"; fail "no remedy of two models"; }
try 0 "$accelctl" plan m.gguf --out plan.json
try 2 "$accelctl" run plan.json -c 64 -p Hi
one_error "-c 64 and the plan plan.json: a plan has all settings, and runs only as it was written"
# A variable has no effect on a recorded plan, which a warning says unless the plan has its value.
try 0 "$accelctl" plan m.gguf --set context=48tok --out variable.json
ACCEL_CONTEXT=64tok try 0 "$accelctl" run variable.json -p Hi -n 2
grep -q "^warn: environment ACCEL_CONTEXT=64tok has no effect: the plan variable.json has context=48tok" "$work/err" ||
    { cat "$work/err"; fail "a variable is ignored in silence"; }
ACCEL_CONTEXT=48tok try 0 "$accelctl" run variable.json -p Hi -n 2
grep -q "has no effect" "$work/err" && fail "a variable with the value of the plan is reported"
# Several prompts run with the sequences of the plan: one after another here, two at a time with sequences=2.
try 0 "$accelctl" run plan.json -g -n 4 -p Hi -p Ho
grep -q "up to 1 sequences a step" "$work/err" || { cat "$work/err"; fail "prompts of a plan with one sequence"; }
cp "$work/out" one_by_one
try 0 "$accelctl" run m.gguf -g -n 4 -p Hi -p Ho --set sequences=1
cmp -s one_by_one "$work/out" || { cat one_by_one; fail "prompts of a plan give another text"; }
try 0 "$accelctl" plan m.gguf --set sequences=2 --out two.json
try 0 "$accelctl" run two.json -g -n 4 -p Hi -p Ho
grep -q "up to 2 sequences a step" "$work/err" || { cat "$work/err"; fail "prompts of a plan with two sequences"; }

# A plan that exceeds its budget: the remedy is a call that works as it is printed, and so do the settings that it finds.
while read -r call; do
    # shellcheck disable=SC2086
    try 5 "$accelctl" $call
    one_error "more than the budget of 1.00 MiB"
    remedy=$(sed -n 's/^  remedy: accelctl //p' "$work/err")
    case $remedy in
    plan*--fit) ;;
    *) fail "no call of plan --fit is the remedy of: $call" && continue ;;
    esac
    try 0 eval "$accelctl $remedy"
    settings=$(sed -n 's/^settings   //p' "$work/out")
    [ -n "$settings" ] || fail "no settings from: $remedy"
    # shellcheck disable=SC2086
    try 0 "$accelctl" $call $settings
done <<END
run m.gguf -n 2 -q -p x --set memory.budget=1MiB
run m.gguf -n 2 -q -p x --set memory.device=1MiB
run m.gguf -n 2 -q -p x --set memory.budget=1MiB --set weights.type=q4
run m.gguf -n 2 -q -p x --set memory.budget=1MiB --set weights.type=f32 -ctk f32
run $f32 -n 2 -q -p x --set memory.device=1MiB --set weights.type=f32
run m.gguf -n 2 -q -p x -p y -p z --set memory.budget=1MiB
bench decode m.gguf --rounds 1 --set memory.budget=1MiB --set sequences=8
END
try 5 "$accelctl" eval m.gguf --text text.txt --set memory.budget=1MiB
grep -qx "  remedy: less at a time: --set batch=16, or shorter windows (--chunk 128)" "$work/err" || fail "no remedy of eval"
try 0 "$accelctl" eval m.gguf --text text.txt --set memory.budget=1MiB --set batch=16

# Norms are what a run does not convert: the remedy makes the file that does.
try 4 "$accelctl" run m.gguf -n 2 -q -p x --set role.norm=f16
remedy=$(sed -n 's/^  remedy: accelctl \(quantize --role norm=f16\) writes a file for it; .*/\1/p' "$work/err")
[ -n "$remedy" ] || { cat "$work/err"; fail "no remedy of role.norm"; }
# shellcheck disable=SC2086
try 0 "$accelctl" $remedy m.gguf norms.gguf --type q8_0
try 0 "$accelctl" run norms.gguf -n 2 -q -p x --set role.norm=f16

: >none-of-them.txt
remedied "$accelctl" run m.gguf --prompts none-of-them.txt
remedied "$accelctl" trace m.gguf --in m.gguf --out x
remedied "$accelctl" eval --text text.txt m.gguf --stride 100000
if [ -e /dev/full ]; then
    "$accelctl" plan m.gguf >/dev/full 2>err && fail "a full standard output"
    grep -q "^  remedy: free disk space where it goes" err || { cat err; fail "no remedy of a full standard output"; }
fi

# Those of one command.
while read -r call; do
    # shellcheck disable=SC2086
    remedied "$accelctl" $call
done <<'END'
run m.gguf -n abc
run m.gguf --temperature hot
run m.gguf --chat
run m.gguf --system x
run m.gguf --prompt x --prompt-file y
run m.gguf -n 0
run m.gguf --max-tokens 5
run m.gguf --set temperature=0
plan m.gguf --emit none
plan m.gguf --mode none
plan m.gguf --platform none
plan m.gguf --advise none
plan m.gguf --explain none
plan m.gguf --fit --max-context
plan m.gguf --out /nope/x.json
bench none m.gguf
bench decode
bench operators --type none
bench operators --shape 3
bench m.gguf --rounds 0
quantize m.gguf
quantize m.gguf m.gguf
quantize m.gguf /nope/x.gguf
quantize m.gguf x.gguf --type none
quantize m.gguf x.gguf COPY
quantize m.gguf x.gguf 15
quantize m.gguf x.gguf --role none=q4
quantize m.gguf x.gguf --role q4
quantize m.gguf x.gguf --method none
quantize m.gguf x.gguf --budget none
eval m.gguf
eval --against m.gguf --bits 9
eval --against m.gguf --text text.txt
matrix --format foo
scores nofile.csv
eval --text text.txt m.gguf --chunk 1
eval --text text.txt m.gguf --html /nope/x.html
profile none
profile show none
profile list none
profile settings none
profile facts none
profile env NONE
END
finish
