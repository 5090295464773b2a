#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What users of llama.cpp and ollama type: every row of doc/llama-cpp.md, the ten commonest command lines as they are
# translated by habit, layers on a GPU, stop texts, and a context longer than the model was trained for.
. "$ACCEL_TEST_SRCDIR/tests/accelctl/lib.sh"
page=$src/doc/llama-cpp.md

# ---- the tables of the page ----

# cells N: the rows below the N-th heading, without their head, columns with tabs between.
cells()
{
    awk -v wanted="$1" '/^## /{ at++ } at == wanted && /^\| `/{ gsub(/^\| | \|$/, ""); gsub(/ \| /, "\t"); print }' "$page"
}

# All options of a command parse, with their values, in one call.
cells 2 >"$work/rows"
[ "$(wc -l <"$work/rows")" -gt 20 ] || fail "the page has no table of options"
tab=$(printf '\t')
while IFS=$tab read -r theirs ours commands_of_row; do
    [ -n "$ours" ] || fail "nothing stands beside $theirs"
    echo "$theirs" | tr ',' '\n' | sed 's/^ *`//; s/`$//' >"$work/flags"
    while read -r flag; do
        for command in $commands_of_row; do echo "$flag" >>"$work/all.$command"; done
    done <"$work/flags"
done <"$work/rows"
for list in "$work"/all.*; do
    # shellcheck disable=SC2046 # flags and their values
    try 0 "$accelctl" "${list##*.}" $(cat "$list") --help
    has "Usage: accelctl ${list##*.}"
done

# And each runs: every spelling with one command, and every command of a row with one spelling. What the page says is refused
# here, for want of a GPU or of wide heads, is refused for that.
ln -s "$q8" "$work/model.gguf" # a file that has just been written is not cached
echo "Once upon a time there was a little girl." >"$work/file.txt"
cd "$work" || exit 99
# call COMMAND FLAG: the call that the option is added to.
call()
{
    case $1:$2 in
    *:-m\ * | *:--model\ *) file= ;;
    *) file=model.gguf ;;
    esac
    case $1:$2 in
    run:-p\ * | run:--prompt\ * | run:-f\ * | run:--file\ *) echo "run $file -n 2 -q" ;;
    run:-sys* | run:--system* | run:-cnv | run:--conv* | run:-st | run:--single*) echo "run $file -n 2 -q -p Once --chat --chat-template chatml" ;;
    run:--chat-template*) echo "run $file -n 2 -q -p Once --chat" ;;
    run:*) echo "run $file -n 2 -q -p Once" ;;
    chat:*) echo "chat $file --chat-template chatml -n 2 -q" ;;
    bench:-p\ * | bench:--prompt\ * | bench:--n-prompt*) echo "bench prefill $file -r 1" ;;
    bench:*) echo "bench decode $file -n 2 -r 1" ;;
    eval:-f\ * | eval:--file\ *) echo "eval $file" ;;
    eval:*) echo "eval $file --text file.txt" ;;
    cache:*) echo "cache warm $file" ;;
    trace:*) echo "trace $file --in $src/tests/fixtures/llama-gqa/inputs.safetensors --out stages.safetensors" ;;
    *) echo "$1 $file" ;;
    esac
}
while IFS=$tab read -r theirs ours commands_of_row; do
    echo "$theirs" | tr ',' '\n' | sed 's/^ *`//; s/`$//' >"$work/flags"
    flags=$(wc -l <"$work/flags")
    # shellcheck disable=SC2086 # words
    set -- $commands_of_row
    turns=$((flags > $# ? flags : $#))
    for turn in $(seq $turns); do
        flag=$(sed -n "$(((turn - 1) % flags + 1))p" "$work/flags")
        command=$(echo "$commands_of_row" | cut -d ' ' -f $(((turn - 1) % $# + 1)))
        status=0
        case $flag in
        *gpu-layers* | -ngl*) "$accelctl" devices --names | grep -qx gpu || status=4 ;;
        *q8_0 | *q4_0) status=4 ;;
        esac
        checks=$((checks + 1))
        # shellcheck disable=SC2046,SC2086 # a call, a flag and its value
        echo Hello | "$accelctl" $(call $command "$flag") $flag >"$work/out" 2>"$work/err"
        is $? $status "status of $command with $flag" || cat "$work/err" "$work/out"
        [ $status = 0 ] || grep -q "there is no GPU\|have no group of 32" "$work/err" || { cat "$work/err"; fail "$command $flag"; }
    done
    # An option and the setting beside it are the same value of a plan.
    set_by=$(echo "$ours" | sed -n 's/^`--set \([a-z.]*=[a-z0-9]*\)`.*/\1/p')
    case "$set_by:$commands_of_row" in
    [a-z]*=[a-z0-9]*:*plan*)
        case $set_by in gpu.layers=*) continue ;; esac
        flag=$(sed -n 1p "$work/flags")
        # shellcheck disable=SC2086
        try 0 "$accelctl" plan model.gguf --json $flag
        given=$(value "settings.${set_by%%=*}.value")
        try 0 "$accelctl" plan model.gguf --json --set "$set_by"
        is "$given" "$(value "settings.${set_by%%=*}.value")" "$flag and --set $set_by"
        ;;
    esac
done <"$work/rows"

# What is to be typed instead exists: commands, their options, and settings.
for command in $(commands); do "$accelctl" help "$command" >"$work/help.$command"; done
cells 3 | sed "s/$tab/ $tab /g" >"$work/instead"
while IFS=$tab read -r theirs command instead; do
    command=$(echo "$command" | tr -d ' ')
    named=$(echo "$instead" | sed -n 's/.*accelctl \([a-z]*\).*/\1/p')
    for option in $(echo "$instead" | tr ' ,;:()' '\n' | sed -n 's/^\(--*[a-z][a-z-]*\).*/\1/p'); do
        checks=$((checks + 1))
        # A letter or a name of the command itself, of the command that the text names, or another name of an option.
        cat "$work/help.$command" "$work/help.${named:-$command}" | tr ' ,()' '\n' | grep -qxe "$option" ||
            fail "$command has no $option, which stands beside $theirs"
    done
    for key in $(echo "$instead" | grep -o -e '--set [a-z.]*=' | sed 's/--set //; s/=//'); do
        try 0 "$accelctl" profile settings "$key" --names
        grep -qx "$key" "$work/out" || fail "there is no setting $key, which stands beside $theirs"
    done
done <"$work/instead"

# Each option that is not here is refused with what the page says.
cells 3 >"$work/rows"
[ "$(wc -l <"$work/rows")" -gt 20 ] || fail "the page has no table of options that are not here"
while IFS=$tab read -r theirs command instead; do
    for flag in $(echo "$theirs" | tr -d '`,'); do
        try 2 "$accelctl" "$command" "$flag" 1 "$q8"
        one_error "$command: there is no option $flag"
        grep -qxF "  remedy: $instead" "$work/err" || { cat "$work/err"; fail "$command $flag: not '$instead'"; }
    done
done <"$work/rows"

# Each command that is not here says what the page says.
cells 4 >"$work/rows"
[ "$(wc -l <"$work/rows")" -gt 8 ] || fail "the page has no table of commands"
while IFS=$tab read -r names instead; do
    for name in $(echo "$names" | tr -d '`,'); do
        try 2 "$accelctl" "$name" "$q8"
        one_error "there is no command '$name'"
        grep -qxF "  remedy: $instead" "$work/err" || { cat "$work/err"; fail "$name: not '$instead'"; }
    done
done <"$work/rows"
# What is told to be typed exists.
for command in run chat plan bench quantize eval cache info tokenize; do
    commands | grep -qx "$command" || fail "the page speaks of accelctl $command"
done

# ---- command lines ----

# Every command of the page's first table has these options.
cells 1 | grep -o '`accelctl [^`]*`' | tr -d '`' >"$work/rows"
[ "$(wc -l <"$work/rows")" -gt 8 ] || fail "the page has no table of command lines"
while read -r line; do
    eval "set -- $line --help"
    shift
    try 0 "$accelctl" "$@"
    has "Usage: accelctl"
done <"$work/rows"

try 0 "$accelctl" run -m "$f32" -p "Once upon a time" -n 8 -c 256 -t 1 -ngl 0 --temp 0
is "$(cat "$work/out")" "Once upon a time, there was a little girl" "llama-cli"
try 0 "$accelctl" run -m "$q8" -p "Once upon a time" -n 8 -no-cnv --no-display-prompt --temp 0 -b 2048 -ub 64 -s 1 \
    --top-k 40 --top-p 0.9 --min-p 0.05 --repeat-penalty 1.1 --ignore-eos --no-mmap -ctk f16 -ctv f16 --no-warmup
grep -q "Once upon" "$work/out" && fail "the prompt is displayed"
try 0 "$accelctl" plan -m "$q8" -c 128 -t 1 -b 2048 -ub 32 --reasons
has "command line -c 128"
has "command line -ub 32"
try 0 "$accelctl" bench -m "$q8" -p 1K,16 -n 4 -r 1 -t 1 -ngl 0 prefill decode --json \
    --set context=2K --set context.beyond_training=true
grep -q '"name": "prefill 1024"' "$work/out" || fail "-p 1K is no prefill of 1024 tokens"
try 0 "$accelctl" quantize "$f32" "$work/out.gguf" Q4_K_M
try 0 "$accelctl" run -m "$work/out.gguf" -p Once -n 2
echo "Once upon a time there was a little girl." >"$work/text"
try 0 "$accelctl" eval -m "$q8" -f "$work/text" -c 8 -t 1
try 0 "$accelctl" show "$q8"
for word in 1K, 1KB K 1.5K; do
    try 2 "$accelctl" bench prefill "$f32" -p "$word"
    one_error "bench: --prompt requires whole numbers from 0 on, separated by commas, not '$word'"
done
try 2 "$accelctl" bench matmul
one_error "bench: 'matmul' is no subject, but an operator"
grep -qx "  remedy: accelctl bench operators --operator matmul" "$work/err" || fail "no command for an operator"
try 3 "$accelctl" bench pp512
one_error 'bench: "pp512" is neither a file nor a model that the profiles describe, nor a subject'
grep -q "remedy: .*; subjects are machine, load, prefill, decode" "$work/err" || fail "no subjects are listed"
try 2 "$accelctl" quantize -m "$f32" "$work/out.gguf" Q4_K_M
grep -q "remedy: -m of quantize is --method" "$work/err" || fail "quantize -m MODEL: $(cat "$work/err")"
try 0 "$accelctl" tokenize "$q8" "Once upon a time"
try 0 "$accelctl" plan llama-2-7b --platform cuda --device rtx3090 -ngl 20 --emit llama-server
has "-ngl 20"
if grep -q "gpu.layers" "$work/out"; then fail "gpu.layers has a flag of llama-server, -ngl"; fi
try 0 "$accelctl" plan -m "$q8" -c 128 -ngl 0 --emit llama-server
has "-ngl 0"
# Without a GPU, the call is for a machine that has one: the sample has 5 layers and an output.
try 0 "$accelctl" plan -m "$q8" -c 512 -ngl 99 --emit llama-server
has "-ngl 6 "
has "no GPU is here"
grep -q "fallback.device" "$work/out" && fail "a setting that nobody gave is listed"
sh -n "$work/out" || fail "--emit: the shell does not read it"
try 0 "$accelctl" plan -m "$q8" -c 128 -ngl 3 --emit llama-server
has "-ngl 3 "
try 4 "$accelctl" plan -m "$q8" -ngl 99 --emit llama-server --set fallback.device=deny
one_error "there is no GPU"
try 4 "$accelctl" plan -m "$q8" -ngl 99
one_error "there is no GPU"
# The prompt may be an argument, wherever -m stands; a model that is not there comes first.
try 0 "$accelctl" run "$f32" -q -n 8 --temp 0 -p "Once upon a time"
cp "$work/out" "$work/wanted"
for call in "$f32|Once upon a time" "-m|$f32|Once upon a time" "Once upon a time|-m|$f32"; do
    (IFS='|' && set -f && "$accelctl" run -q -n 8 --temp 0 $call) >"$work/out" 2>"$work/err" || cat "$work/err"
    cmp "$work/out" "$work/wanted" || fail "the argument TEXT: $call"
done
try 2 "$accelctl" run "$q8" Once upon
one_error "one argument too many: 'upon'"
grep -qF '  remedy: put the text between quotes: accelctl run MODEL "TEXT"' "$work/err" || fail "a text without quotes"
try 2 "$accelctl" run "$q8" Once -p upon
one_error "the prompt is the argument TEXT, or that of --prompt"
try 3 "$accelctl" run llama3 hello
one_error '"llama3" is neither a file nor a model'
grep -q "remedy: .*to run a model, download its GGUF file" "$work/err" || fail "nothing says where a model comes from"
cp -r "$models/hf" "$work/template"
printf '{%% for m in messages %%}{{ m.content }}{%% endfor %%}' >"$work/template/chat_template.jinja"
try 0 "$accelctl" run "$work/template" Once -n 2
grep -q "^note .*with --chat it answers a message" "$work/err" || fail "no note on --chat"
try 0 "$accelctl" run "$work/template" Once -n 2 --chat
grep "^note" "$work/err" && fail "a note beside --chat"
"$accelctl" run "$work/template" -n 2 </dev/null >"$work/out" 2>"$work/err"
grep -q "^note .*without a prompt the model begins a text; accelctl chat converses" "$work/err" || fail "no note on chat"
try 2 "$accelctl" run -m "$work/none.gguf" -cnv -sys
one_error "-sys requires a value"

# No device of llama.cpp's list is the processors.
try 0 "$accelctl" run "$f32" -dev none -n 8 --temp 0 -p "Once upon a time"
grep -q "^placement .* on cpu:cpu0, 0 fallbacks$" "$work/err" || { cat "$work/err"; fail "-dev none is not the CPU"; }
# What the page says of types that are not written: as TYPE, and where OUT was forgotten, whatever the case.
for type in IQ3_M iq2_xxs TQ1_0 Q4_0_4_4 NVFP4 fp8 f8_e4m3; do
    try 2 "$accelctl" quantize "$f32" "$work/type.gguf" $type
    one_error "the type $type is not written here"
    grep -qE "^  remedy: (Q[234]_[0K](_[SM])?|f8) is the nearest in size" "$work/err" || fail "no nearest type for $type"
done
for type in IQ3_M COPY tq1_0; do
    try 2 sh -c 'cd "$3" && exec "$1" quantize "$2" "$4"' sh "$accelctl" "$f32" "$work" $type
    one_error "OUT is missing: '$type' is a type"
    [ ! -e "$work/$type" ] || fail "a file named $type was written"
done
try 2 "$accelctl" quantize -n "$f32" IQ3_M
one_error "the type IQ3_M is not written here"

# -fa takes one of its words alone: other words are arguments and options.
try 0 "$accelctl" run -fa "$q8" -n 2 -p Once
grep -q "^placement" "$work/err" || fail "-fa before the model"
try 0 "$accelctl" run "$q8" -p Once -fa -n 2
is "$(grep -c '^generated  2 tokens' "$work/err")" 1 "-fa before -n 2"
for word in "" on 1 tiled; do
    # shellcheck disable=SC2086 # no word
    try 0 "$accelctl" plan "$q8" -fa $word --device cpu --explain attention.kernel
    has "= tiled"
done
try 0 "$accelctl" plan -fa auto "$q8" --device cpu --explain attention.kernel
has "command line -fa auto"
try 0 "$accelctl" plan --flash-attn=on "$q8" --device cpu --explain attention.kernel
has "= tiled"
try 2 "$accelctl" run "$q8" --flash-attn=maybe -n 2 -p Once
one_error "maybe"

# What the page says is refused, and what goes on.
try 4 "$accelctl" run "$q8" -fa off -n 2 -p Once --device cpu
one_error "command line -fa off: attention.kernel=eager"
try 4 "$accelctl" run "$q8" -ctk q8_0 -n 2 -p Once --device cpu
one_error "heads of 8 elements have no group of 32 or more"
try 0 "$accelctl" run "$q8" -ctk q8_0 -n 2 -p Once --device cpu --set fallback.kv=warn

# Underscores in options are dashes, and not those of values.
try 0 "$accelctl" run "$q8" --n_predict 1 --cache_type_k=f16 -q -p Once
try 2 "$accelctl" run "$q8" --max_tokens=1 -p Once
grep -qx "  remedy: -n N" "$work/err" || fail "--max_tokens has no option"
try 3 "$accelctl" eval --text=text_of_none "$q8"
one_error "text_of_none"

# An option of several letters is never a letter with a value; a number may stand right behind its letter.
for word in -nx -ngx -pHello -tx -gqx -mtp; do
    try 2 "$accelctl" run "$q8" "$word"
    one_error "there is no option $word"
done
try 2 "$accelctl" run "$q8" -ngll 1
one_error "did you mean -ngl?"
for word in -nn:-n -cc:-c -gqx:-g; do
    try 2 "$accelctl" run "$q8" "${word%:*}"
    one_error "there is no option ${word%:*}; did you mean ${word#*:}?"
done
try 2 "$accelctl" run "$q8" -pHello
one_error "a value has a space before it: -p Hello"
# Whole numbers are printed as such.
try 2 "$accelctl" run "$q8" -n -2
one_error "-n requires a whole number from 1 to 1000000000000000, or -1 for no limit, not '-2'"
# Two devices are neither a list nor is one of them dropped; the same one twice is one.
try 2 "$accelctl" run "$q8" --device gpu -dev cpu
one_error "run: --device gpu and --device cpu: one option has all devices"
grep -qF "  remedy: --device gpu,cpu names both" "$work/err" || fail "no list of two devices"
try 0 "$accelctl" run "$q8" -dev cpu -dev none -n 1 -q -p Once
try 0 "$accelctl" run "$q8" -n3 -gq -p Once
is "$(cat "$work/out")" " upon a time" "-n3 -gq"
try 0 "$accelctl" run "$q8" -n=3 -gq -p Once
is "$(cat "$work/out")" " upon a time" "-n=3 -gq"
# Numbers of tokens take K; of -m twice the last one counts; a short or another name has its option.
try 2 "$accelctl" eval -m "$q8" -f "$work/text" -c 1K
one_error "-c 1024: context=1024"
try 0 "$accelctl" plan -m "$work/none.gguf" -m "$q8"
has "$q8"
for guess in --ctx:--ctx-size --context:--ctx-size --batch:--batch-size --hlep:--help; do
    try 2 "$accelctl" plan "$q8" "${guess%%:*}" 64
    one_error "there is no option ${guess%%:*}; did you mean ${guess#*:}?"
done
try 4 "$accelctl" plan "$q8" -ngl -1
one_error "gpu.layers=all: there is no GPU"
# Names of ollama, of a hub and of a site name no file, and nothing is downloaded.
for name in llama3.2 qwen3:8b ggml-org/gemma-3-1b-it-GGUF hf.co/a/b:Q4_K_M https://host/model.gguf; do
    try 3 "$accelctl" run "$name"
    one_error "$name"
    grep -q -E "remedy: .*path.*\((nothing is downloaded|accelctl downloads nothing)\)" "$work/err" || { cat "$work/err"; fail "no remedy for $name"; }
done
# A path instead of a command, and a seed where nothing is drawn.
try 2 "$accelctl" "$work/none.gguf"
grep -qxF "  remedy: accelctl run $work/none.gguf" "$work/err" || fail "a path as a command: $(cat "$work/err")"
try 0 "$accelctl" run "$q8" --greedy -s -1 -n 2 -p Once
grep "^seed " "$work/err" && fail "a seed of a greedy run"
# --mmap is a setting, which is stronger than a variable and takes back an earlier --no-mmap.
try 0 env ACCEL_WEIGHTS_LOAD=read "$accelctl" plan "$q8" --no-mmap --mmap --reasons
grep -qE 'weights.load +map .*command line --mmap' "$work/out" || { cat "$work/out"; fail "--mmap sets nothing"; }
# The newline at the end of a file is not part of its text, for -f as for a pipe.
try 0 "$accelctl" run "$f32" -q -n 8 --temp 0 -p "Once upon a time"
cp "$work/out" "$work/wanted"
echo "Once upon a time" >"$work/prompt"
try 0 "$accelctl" run "$f32" -q -n 8 --temp 0 -f "$work/prompt"
cmp "$work/out" "$work/wanted" || fail "-f: the newline at the end of the file is part of the prompt"
"$accelctl" run "$f32" -q -n 8 --temp 0 <"$work/prompt" >"$work/out" 2>"$work/err"
cmp "$work/out" "$work/wanted" || fail "a pipe: the newline at its end is part of the prompt"
# A temperature below 0 is 0, a top-k below 0 is all; -n 0 is refused.
try 0 "$accelctl" run "$f32" -q -n 8 --temp -1 -p "Once upon a time"
cmp "$work/out" "$work/wanted" || fail "--temp -1 is not greedy"
try 0 "$accelctl" run "$f32" -q -n 8 --top-k 0 -p "Once upon a time"
cp "$work/out" "$work/wanted"
try 0 "$accelctl" run "$f32" -q -n 8 --top-k -1 -p "Once upon a time"
cmp "$work/out" "$work/wanted" || fail "--top-k -1 is not --top-k 0"
try 2 "$accelctl" run "$f32" -n 0 -p x
one_error "-n requires a whole number from 1 on, or -1 for no limit, not '0'"
# Escapes: as they stand, and expanded by -e.
try 0 "$accelctl" run "$f32" -n 1 --temp 0 -p 'a\nb\x41\q'
is "$(head -c 10 "$work/out")" 'a\nb\x41\q' "a prompt without -e"
try 0 "$accelctl" run "$f32" -n 1 --temp 0 -e -p 'a\nb\x41\q'
is "$(head -c 6 "$work/out")" "$(printf 'a\nbA\\q')" "a prompt with -e"
try 0 "$accelctl" run "$f32" -q -n 1 --temp 0 -e -p 'Once upon a\x20time'
is "$(cat "$work/out")" "," "a prompt of -e"
try 2 "$accelctl" run "$f32" -e -p 'a\x00b'
one_error "--escape: \\x00 is a zero byte"
try 2 "$accelctl" -m "$f32" -p Hi
one_error "a command is required before the option '-m'"
grep -q "^  remedy: accelctl run -m MODEL" "$work/err" || fail "no command for -m"
try 2 "$accelctl" run "$f32" --set top_k=3
grep -qx "  remedy: --top-k 3" "$work/err" || fail "no option for top_k"
try 2 "$accelctl" run "$f32" --set temp=0
one_error "temp is no setting of a plan"
try 2 "$accelctl" run "$f32" --set temperature=0
one_error "temperature is no setting of a plan"
grep -qx "  remedy: --temperature 0" "$work/err" || fail "no option for a setting"
# The last one counts, among options and settings alike.
try 0 "$accelctl" plan "$q8" --set context=64 -c 128 --reasons
has "command line -c 128"
try 0 "$accelctl" plan "$q8" -c 128 --set context=64tok --reasons
has "command line --set context=64tok"
# More threads than there are: the option as it was typed.
try 4 "$accelctl" run "$q8" -t 4000 -n 1 -p x
one_error "command line -t 4000: cpu.threads=4000"
# A drawn seed is printed and repeats its text.
try 0 "$accelctl" run "$q8" -n 30 -s -1 -p Once
seed=$(sed -n 's/^seed  *//p' "$work/err")
cp "$work/out" "$work/drawn"
try 0 "$accelctl" run "$q8" -n 30 -s "$seed" -p Once
cmp "$work/out" "$work/drawn" || fail "seed $seed does not repeat its text"
# Every number of 64 bits is a seed, and documents name its origin.
try 0 "$accelctl" run "$q8" -n 3 -s 18446744073709551615 --json -p Once
is "$(value sampling.seed) $(value sampling.origin)" "18446744073709551615 given" "the largest seed"
try 2 "$accelctl" run "$q8" -n 3 -s 18446744073709551616 -p Once
one_error "run: -s requires a whole number from 0 to 18446744073709551615, or -1 to draw one"
try 0 "$accelctl" run "$q8" -n 3 --json -p Once
is "$(value sampling.seed) $(value sampling.origin)" "0 default" "the seed without an option"
# Documents have it, and the error output stays empty.
for more in "" "--prompt Twice"; do
    at=text
    [ -z "$more" ] || at=texts.1.text
    # shellcheck disable=SC2086
    try 0 "$accelctl" run "$q8" -n 30 -s -1 --json -p Once $more
    is "$(cat "$work/err")" "" "the error output of a document"
    seed=$(number sampling.seed)
    is "$(value sampling.origin)" drawn "origin of a drawn seed"
    drawn=$(value $at)
    # shellcheck disable=SC2086
    try 0 "$accelctl" run "$q8" -n 30 -s "$seed" --json -p Once $more
    is "$(value $at)" "$drawn" "text of seed $seed"
done
try 0 "$accelctl" run "$q8" -n 3 -s -1 -q -p Once
is "$(cat "$work/err")" "" "the error output of a quiet run"
try 0 "$accelctl" run "$q8" -n 3 --greedy --json -p Once
is "$(value sampling.seed)" null "the seed where nothing is drawn"
printf 'Once\n' >"$work/in"
try 0 sh -c 'exec "$@" <'"$work/in" sh "$accelctl" chat "$q8" --chat-template chatml -n 3 -s -1 --json
is "$(cat "$work/err")" "" "the error output of a chat"
number sampling.seed >/dev/null

# ---- values of llama.cpp, flags that contradict each other ----

# refused STATUS WANTED REMEDY COMMAND...
refused()
{
    words=$2
    remedy=$3
    status=$1
    shift 3
    try "$status" "$accelctl" "$@"
    one_error "$words"
    grep -qF "  remedy: $remedy" "$work/err" || { cat "$work/err"; fail "no remedy '$remedy': $*"; }
}

for type in q4_1 q5_0 q5_1 iq4_nl bf16; do
    refused 2 "run: -ctk: kv.type.k has no value '$type'" "keys and values are cached as f32, f16, q8_0" \
        run "$q8" -ctk $type -p x
done
for key in kv.type kv.type.k; do
    try 0 "$accelctl" plan "$q8" --explain kv.type.k --set $key=q8_0 --set fallback.kv=warn
    has "command line --set $key=q8_0"
    try 0 "$accelctl" plan "$q8" --explain kv.type.k --set $key=Q8_0 --set fallback.kv=warn
done
try 0 "$accelctl" plan "$q8" -c 1K -b 1k --reasons --set context.beyond_training=true
grep -qE "^  context  +1024 tok  +command line -c 1K$" "$work/out" || { cat "$work/out"; fail "a context of 1K"; }
refused 2 "run: --chat-template is part of a --chat" "add --chat" run "$q8" --chat-template chatml -p x
try 3 "$accelctl" run "$q8" -cnv -n 1 -p x
one_error "the model has no chat template"
try 0 "$accelctl" run "$q8" -cnv -no-cnv -n 1 -p x
try 0 "$accelctl" run "$q8" -no-cnv -cnv -n 1 -p x --chat-template chatml
refused 2 "run: --host is no '0.0.0.0'" "--host FILE is a recorded machine" run "$q8" --host 0.0.0.0 -p x
refused 2 "run: there is no option -to" "a run has no time limit of its own" run "$q8" -to 3 -p x
refused 2 "plan: -p is no '512'" "-p of plan is --platform NAME" plan "$q8" -p 512
refused 2 "plan: there is no option -n" "a plan is for the whole context" plan "$q8" -n 5
refused 2 "bench: -t requires a whole number from 1 on, not '1,2'" "a benchmark is of one value" \
    bench "$q8" -t 1,2
refused 2 "bench: -fa: attention.kernel has no value '0,1'" "a benchmark is of one value" bench "$q8" -fa 0,1
try 0 "$accelctl" bench "$q8" -p 0 -n 4,0 -r 1 -l 64 -B 2 --json
grep -q '"name": "decode 4"' "$work/out" || fail "decode is left out"
grep -q '"name": "prefill' "$work/out" && fail "-p 0 measures prefill"
# -p and -n are of prefill and decode: what has no option is left out.
try 0 "$accelctl" bench "$q8" -p 16 -r 1 -n 4 --json
is "$(sed -n 's/^ *"name": "\([a-z]*\) [0-9x ]*".*/\1/p' "$work/out" | sort -u | tr '\n' ' ')" "decode prefill " "subjects of -p and -n"
try 2 "$accelctl" bench prefill "$q8" -p 0
one_error "bench prefill: --prompt 0 leaves nothing to measure"

# ---- one value for keys and values, numbers without their unit ----

try 0 "$accelctl" plan "$q8" --set kv.type=f32 --set batch=32 --reasons
is "$(grep -c "f32 .*command line --set kv.type=f32" "$work/out")" 2 "settings of kv.type"
try 0 env ACCEL_KV_TYPE=f32 ACCEL_KV_TYPE_V=f16 "$accelctl" plan "$q8" --reasons
has "environment ACCEL_KV_TYPE_V"
is "$(grep -cE "environment ACCEL_KV_TYPE$" "$work/out")" 1 "a variable of one setting is stronger"

# ---- layers on a GPU ----

# Without one: by name, as the policy says; none of the layers needs none.
try 4 "$accelctl" run "$q8" -ngl 99 -n 1 -p x
one_error "command line -ngl 99: gpu.layers=99: there is no GPU that is hardware; here are cpu:cpu0 (cpu)"
grep -q "remedy: gpu.layers=0 (-ngl 0) runs on the processors" "$work/err" || fail "no remedy without a GPU"
try 4 env ACCEL_GPU_LAYERS=2 "$accelctl" plan "$q8"
one_error "environment ACCEL_GPU_LAYERS: gpu.layers=2"
try 0 "$accelctl" run "$q8" -ngl 99 -n 1 -p x --set fallback.device=allow
grep -q "cpu:cpu0 stands in for a GPU (command line -ngl 99" "$work/err" || { cat "$work/err"; fail "a fallback is not told"; }
try 2 "$accelctl" run "$q8" -ngl 3 --device cpu -n 1 -p x
one_error "gpu.layers=3 needs a GPU, and the request names the device cpu:cpu0"
try 2 "$accelctl" run "$f32" -n 1 -p x --device cpu --set offload.layers=2
one_error "offload.layers=2 needs a GPU, and the request names the device cpu:cpu0"
try 2 "$accelctl" run "$q8" -ngl gl -n 1 -p x
one_error "gpu.layers: \"gl\" is not a whole number, and none of: auto all"

# ---- stop texts ----

whole=", there was a little girl named Lily. She loved to play outside in the park."
try 0 "$accelctl" run "$f32" -p "Once upon a time" --temp 0 -q -n 30
case $(cat "$work/out") in "$whole"*) ;; *) fail "the text changed: $(cat "$work/out")" ;; esac
# stop TEXT WANTED: also one that begins and ends inside of tokens, or is longer than any.
stop()
{
    try 0 "$accelctl" run "$f32" -p "Once upon a time" --temp 0 -q -n 30 --stop "$1"
    is "$(cat "$work/out")" "$2" "stop at '$1'"
}
stop "girl" ", there was a little "
stop "irl named L" ", there was a little g"
stop "tle girl named Lily. She lov" ", there was a lit"
stop "," ""
stop "little boy" "$(head -c -1 "$work/out" >/dev/null; "$accelctl" run "$f32" -p "Once upon a time" --temp 0 -q -n 30 2>/dev/null)"
try 0 "$accelctl" run "$f32" -p "Once upon a time" --temp 0 -n 30 -r park -r "named Lily" --json
is "$(value text)" ", there was a little girl " "the first of two stop texts"
is "$(value stop)" "stop text" "why a text ended"
# Text that may begin a stop text comes at the end.
try 0 "$accelctl" run "$f32" -p "Once upon a time" --temp 0 -q -n 7 --stop "little giant"
is "$(cat "$work/out")" "$("$accelctl" run "$f32" -p "Once upon a time" --temp 0 -q -n 7 2>/dev/null)" "held text at the end"
try 0 "$accelctl" run "$f32" -p "Once upon a time" -p "Lily and Tom" --temp 0 -q -n 30 --stop "."
grep -qF "." "$work/out" && fail "a stop text is printed: $(cat "$work/out")"
is "$(wc -l <"$work/out")" 2 "texts that are stopped"
try 2 "$accelctl" run "$q8" -p x --stop ""
one_error "--stop requires a text that is not empty"

# ---- a context longer than the model was trained for ----

for command in plan "run -n 1 -p x"; do
    # shellcheck disable=SC2086
    try 2 "$accelctl" $command -c 1000 "$q8"
    one_error "command line -c 1000: context=1000: $q8 was trained for 512 tokens"
    grep -q "remedy: -c 512, or --set context.beyond_training=true" "$work/err" || fail "no setting allows it"
    # shellcheck disable=SC2086
    try 2 "$accelctl" $command --set context=1000 "$q8"
    grep -q "remedy: --set context=512, or --set context.beyond_training=true" "$work/err" || fail "no context is named"
done
try 2 "$accelctl" plan llama-2-7b -c 100000
one_error "context=100000: llama-2-7b was trained for 4096 tokens"
try 0 "$accelctl" plan "$q8" -c 1000 --set context.beyond_training=true
grep -q "^context *1000 tokens.*512" "$work/out" || { cat "$work/out"; fail "no context past the trained one"; }
try 0 "$accelctl" run "$q8" --greedy --ignore-eos -c 700 -n 600 -p Once --set context.beyond_training=true
grep -q "^generated  600 tokens" "$work/err" || fail "a text past the trained context"
grep -q "^warning .*more than the 512 tokens that the model was trained for" "$work/err" || fail "no warning past the trained context"
try 0 "$accelctl" run "$q8" -q -c 0 -n 1 -p Once
# --set takes llama.cpp's values as its options do: the numbers of two settings do not mix.
try 0 "$accelctl" plan llama-2-7b --set context=2K --set batch=1k --set cpu.threads=-1 --set attention.kernel=on --json
is "$(value settings.context.value) $(value settings.batch.value) $(value settings.attention.kernel.value)" \
    "2048 1024 tiled" "values of --set"
try 0 "$accelctl" plan "$q8" --set context=0
grep -q "^context    512 tokens" "$work/out" || fail "--set context=0 is not what the model was trained for"

finish
