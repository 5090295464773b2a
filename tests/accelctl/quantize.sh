#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Files with other types through the command, and what it says of them.
. "$ACCEL_TEST_SRCDIR/tests/accelctl/lib.sh"

out=$work/model.gguf
try 0 "$accelctl" quantize --type q8_0 "$f32" "$out"
has "Q8_0"
has "bits per weight"
try 0 "$accelctl" plan --json "$out"
case $(value model.types) in Q8_0*) ;; *) fail "types of the new file: $(value model.types)" ;; esac

# A file in the types that it has is the same model.
try 0 "$accelctl" quantize --type f32 "$f32" "$out"
# shellcheck disable=SC2086
try 0 "$accelctl" run "$out" --greedy --json -n 40 $exact --prompt "Once"
ids=$(value ids)
# shellcheck disable=SC2086
try 0 "$accelctl" run "$f32" --greedy --json -n 40 $exact --prompt "Once"
is "$(value ids)" "$ids" "ids of the same weights in a new file"

rm -f "$out"
try 0 "$accelctl" quantize --dry-run --tensors "$f32" "$out"
has "rows are no whole number of blocks"
has "no matrix"
[ ! -e "$out" ] && [ ! -e "$out.part" ] || fail "--dry-run wrote something"
try 0 "$accelctl" quantize --json --type f16 --keep 'token*' "$f32" "$out"
is "$(value tensors.0.reason)" "unchanged on request" "reason of a kept tensor"
is "$(value bytes)" "$(wc -c <"$out" | tr -d ' ')" "bytes of the file"

# Rows of 64 values are no blocks of 256: a line says what they got, in both forms.
rm -f "$out"
try 0 "$accelctl" quantize --pure --type q3_k "$f32" "$out"
grep -qE '^[0-9]+ matrices get IQ4_NL instead of Q3_K, whose blocks do not divide their rows$' "$work/out" ||
    fail "no line about rows that are no whole number of blocks"
grep -q '^replaced' "$work/out" && fail "a new file replaced something"
told=$(sed -n 's/ matrices get IQ4_NL .*$//p' "$work/out")
try 0 "$accelctl" quantize --dry-run --pure --type q3_k "$f32" "$out"
has "would be replaced: the file that has that name"
try 0 "$accelctl" quantize --pure --type q3_k "$f32" "$out"
has "replaced: the file that has that name"
try 0 "$accelctl" quantize --json --pure --type Q3_K "$f32" "$out"
is "$(value other_types.0.matrices) $(value other_types.0.to)" "$told IQ4_NL" "other types in JSON"
is "$(value replaced)" true "replaced in JSON"
try 0 "$accelctl" quantize --type q8_0 "$f32" "$out"
grep -qE 'gets? F16 instead of Q8_0, whose blocks' "$work/out" || fail "no line about rows of Q8_0"

# Every word that the command knows is a type of the library, and is in the help.
try 0 "$accelctl" quantize --help
cp "$work/out" "$work/help"
for type in f32 f16 bf16 q8_0 q6_k q5_k q5_1 q5_0 q4_k q4_1 q4_0 iq4_nl iq4_xs mxfp4 q3_k q2_k q4_k_m q4_k_s q5_k_m \
    q5_k_s q3_k_s q3_k_m q3_k_l mxfp4_moe; do
    try 0 "$accelctl" quantize -n --type "$type" "$f32" "$work/none.gguf"
    grep -qw "$type" "$work/help" || fail "the help has no $type"
done
try 2 "$accelctl" quantize --type q8_00 "$f32" "$out"
one_error "did you mean q8_0?"
# What cannot be written is a wrong word of the command line, whichever option has it.
for wrong in "--type q4_g33" "--critical 0" "--role q=0" "--budget 260kB --candidate 0"; do
    # shellcheck disable=SC2086 # words
    try 2 "$accelctl" quantize -n $wrong "$f32" "$out"
    one_error "is no type that can be written"
done
# Names that no file can have are told as that, by every command that reads a model.
ln -s loop "$work/loop"
for command in "quantize -n" plan "run -n 1"; do
    # shellcheck disable=SC2086 # words
    try 3 "$accelctl" $command "$work/loop"
    one_error "loop: cannot open: Too many levels of symbolic links"
    # shellcheck disable=SC2086 # words
    try 3 "$accelctl" $command "$(printf '%05000d' 0)"
    one_error "cannot open: File name too long"
done
try 2 "$accelctl" quantize --type zzzzzz "$f32" "$out"
one_error "'zzzzzz'"
grep -q "did you mean" "$work/err" && fail "zzzzzz is near to nothing"
try 2 "$accelctl" quantize "$models/hf" "$out"
one_error "is no folder"
try 0 "$accelctl" quantize --type q4_g32 "$models/hf" "$work/packed"
has "q4_g32     30 tensors"
grep -q '^replaced' "$work/out" && fail "a new folder replaced something"
try 0 "$accelctl" quantize -n --type q4_g32 "$models/hf" "$work/packed"
has "would be replaced"
try 2 "$accelctl" quantize -n --type q4_g32 "$models/hf" "$models/hf/"
one_error "is the folder that is read"
try 0 "$accelctl" run "$work/packed" --greedy -n 8 -p "Once upon a time"
has "Once upon a time, there was"

# The name of a type in several options.
rm -r "$work/packed"
try 0 "$accelctl" quantize --type q4 --group 32 --scheme asymmetric "$models/hf" "$work/packed"
has "q4_g32a    30 tensors"
try 2 "$accelctl" quantize --type q4 --group 48 "$models/hf" "$work/packed"
one_error "--group requires 32, 64, 128, 256, 512 or row, not '48'"
try 2 "$accelctl" quantize --type q4_k --group 32 "$f32" "$out"
one_error "--group contradicts it"
try 2 "$accelctl" quantize --type nf4 --scheme symmetric "$f32" "$out"
one_error "--scheme contradicts it"
try 2 "$accelctl" quantize --type q4 --scheme odd "$f32" "$out"
one_error "not 'odd'"

# Roles, methods, a text to calibrate with.
try 0 "$accelctl" quantize --json --type q4_0 --role v=q8_0 --role embedding=f32 "$f32" "$out"
is "$("$json" "$work/out" - tensors.0.to)" F32 "the embedding's type"
try 0 "$accelctl" quantize --json --type q4_0 --critical q8_0 --dry-run --tensors "$f32" "$out"
grep -q '"Q8_0"' "$work/out" || fail "no critical matrices"
try 2 "$accelctl" quantize --type q4_0 --role nothing=q8_0 "$f32" "$out"
one_error "nothing"
cat >"$work/text" <<'END'
Tom and Sam went to the park with their mom. They saw a little dog. The dog was sad because it had no ball. Tom gave
the dog his red ball and the dog was very happy. "Thank you, Tom!" said the mom. They all went home and had some cake.
END
for method in nearest search importance gptq; do
    try 0 "$accelctl" quantize --json --type q2 --group 32 --calib "$work/text" --method $method "$models/hf" "$work/m-$method"
    is "$(value calibration_tokens | grep -c '^[0-9][0-9]')" 1 "tokens of the text"
    "$json" "$work/out" - tensors.1.output_error >"$work/error-$method"
done
cmp -s "$work/m-nearest/model.safetensors" "$work/m-search/model.safetensors" && fail "nearest and search write the same"
cmp -s "$work/m-search/model.safetensors" "$work/m-gptq/model.safetensors" && fail "search and gptq write the same"
rm -f "$out"
try 0 "$accelctl" quantize --sensitivity "$f32" "$out"
has "relative error of weights"
grep -q '^  blk.0.attn_q.weight .*[0-9][*]' "$work/out" && fail "a star where nothing is chosen"
[ ! -e "$out" ] || fail "--sensitivity wrote a file"
try 0 "$accelctl" quantize --sensitivity --budget 260kB --calib "$work/text" "$f32"
has "relative error of outputs"
grep -q '^  blk.0.attn_q.weight .*[0-9][*]' "$work/out" || fail "no star at what a matrix gets"
try 2 "$accelctl" quantize --candidate q4_0 "$f32" "$out"
one_error "--candidate is for --budget and --sensitivity"
try 2 "$accelctl" quantize "$models/hf" "$work/folder.gguf"
one_error "becomes another folder"
grep -qF "  remedy: accelctl quantize $models/hf $work/folder q4_k_m writes a folder" "$work/err" || fail "a folder to GGUF: $(cat "$work/err")"
# A wrong type is reported before the name of OUT, whose remedy repeats the type.
try 2 "$accelctl" quantize "$models/hf" "$work/folder.gguf" Q9
one_error "there is no type 'Q9' of a folder of safetensors"
for OUT in folder folder.gguf; do
    try 2 "$accelctl" quantize "$models/hf" "$work/$OUT" IQ2_XXS
    grep -q "^  remedy: Q2_K is the nearest in size" "$work/err" || fail "IQ2_XXS of a folder: $(cat "$work/err")"
done
try 0 "$accelctl" quantize --dry-run --type q3 --group 32 --role ffn=q4_k "$f32"
grep -q 'F16 instead of Q4_K, whose blocks' "$work/out" || fail "the type of a role is not named: $(cat "$work/out")"
has "OUT would have"
has "layout accel 1: for programs over libaccel-model alone"
try 0 "$accelctl" quantize --json --budget 260kB --candidate q3_g32 --candidate q4_g32 --candidate q8_g32 --candidate f16 \
    "$f32" "$out"
[ "$(wc -c <"$out")" -le 260000 ] || fail "more bytes than the budget"
is "$(value budget)" 260000 "the budget"
is "$(value bytes)" "$(wc -c <"$out" | tr -d ' ')" "bytes of a file within a budget"
# Names that fit, and of which that of the file beside them does not.
try 1 "$accelctl" quantize --type q4_0 "$f32" "$work/$(printf '%0248d' 7).gguf"
one_error "remedy: name a file with a shorter name: the temporary file beside it has a longer one"
# A run that ends early leaves a model that the folder has as it was, and makes no folder that holds nothing.
try 0 "$accelctl" quantize --type f16 "$models/hf" "$work/kept"
try 1 sh -c 'ulimit -f 100; exec "$0" quantize --type q4_g32 "$1" "$2"' "$accelctl" "$models/hf" "$work/kept"
one_error "model.safetensors.part: cannot reserve its disk space"
grep -q 'remedy: files of this process may have .* bytes (ulimit -f): raise the limit' "$work/err" ||
    { cat "$work/err"; fail "no remedy of a limit on files"; }
try 0 "$accelctl" run "$work/kept" --greedy --json -n 4 --prompt "Once"
try 1 sh -c 'ulimit -f 100; exec "$0" quantize --type q4_g32 "$1" "$2"' "$accelctl" "$models/hf" "$work/unmade"
[ ! -e "$work/unmade" ] || fail "a folder without a model was left"

# What a text does not reach keeps its values, since another one may. Here a norm of zeros stands before two matrices.
cp "$f32" "$work/unreached.gguf"
chmod u+w "$work/unreached.gguf"
dd if=/dev/zero of="$work/unreached.gguf" bs=64 seek=$((558592 / 64)) count=4 conv=notrunc 2>"$work/err"
for method in importance gptq; do
    try 0 "$accelctl" quantize --type q3_g32 --method $method --calib "$work/text" "$work/unreached.gguf" "$out"
    try 0 "$accelctl" eval --against "$work/unreached.gguf" "$out" --json
    sed -n '/"name": "blk.2.ffn_up.weight"/,/relative_error/p' "$work/out" |
        awk '/relative_error/ { found = $2 + 0 } END { exit !(found > 0.1 && found < 0.3) }' ||
        fail "$method: values of a matrix that the text does not reach are lost"
done

# Values beyond the halves, a million each, are no candidates for F16; the matrix gets another type.
cp "$f32" "$work/wide.gguf"
chmod u+w "$work/wide.gguf"
i=0
while [ $i -lt 1024 ]; do printf '\000\044\164\111' && i=$((i + 1)); done |
    dd of="$work/wide.gguf" bs=1 seek=$(($(wc -c <"$f32") - 4096)) conv=notrunc 2>"$work/err"
try 0 "$accelctl" quantize --budget 300kB "$work/wide.gguf" "$out"
try 2 "$accelctl" quantize --budget 1kB "$f32" "$out"
one_error "a budget of 1000 bytes"
try 2 "$accelctl" quantize --method gptq "$f32" "$out"
one_error "--method gptq requires a --calib"
try 2 "$accelctl" quantize --method best "$f32" "$out"
one_error "not 'best'"
try 2 "$accelctl" quantize --budget 3bytes "$f32" "$out"
one_error "--budget requires a size, not '3bytes'"
try 3 "$accelctl" quantize --calib "$work/none" "$f32" "$out"
one_error "none"
: >"$work/empty"
try 3 "$accelctl" quantize --calib "$work/empty" "$f32" "$out"
one_error "two tokens at least"
try 2 "$accelctl" quantize "$f32"
one_error "requires an argument"
cp "$f32" "$work/same.gguf"
try 2 "$accelctl" quantize "$work/same.gguf" "$work/same.gguf"
one_error "is the file that is read"
ln -s same.gguf "$work/link.gguf"
try 2 "$accelctl" quantize -n "$work/same.gguf" "$work/link.gguf"
one_error "is the file that is read"

# Places where no file may be put, and files of somebody else.
mkfifo "$work/fifo"
for name in "" "$work/new/" "$work" "$work/fifo"; do
    try 2 "$accelctl" quantize "$f32" "$name"
    try 2 "$accelctl" quantize -n "$f32" "$name"
done
[ -p "$work/fifo" ] || fail "a FIFO was replaced"
# Transposed matrices of GPT-2 are left to the loading of a run, and nothing else is written as if it were quantized.
gpt2=${ACCEL_SHARED_FIXTURES-}/gpt2-base
if [ -d "$gpt2" ]; then
    for option in "" --dry-run; do
        # shellcheck disable=SC2086
        try 3 "$accelctl" quantize "$gpt2" "$work/gpt2" --type q4 --group 128 $option
        one_error "none of its matrices can be quantized: 8 are stored transposed, with inputs first"
        grep -q "^  remedy: let each run convert them .* --set weights.type=q4" "$work/err" || fail "remedy of a transposed file"
        [ ! -e "$work/gpt2" ] || fail "a refused conversion wrote a folder"
    done
    try 0 "$accelctl" plan "$gpt2" --set weights.type=q4
    has "10 of 28 weights are not in the file as the plan has them"
    has "remedy: convert_hf_to_gguf.py of llama.cpp makes a GGUF file"
    try 0 "$accelctl" plan "$ACCEL_SHARED_FIXTURES/gpt2-large-ish" --set memory.budget=1MiB --fit --all
    grep -q "accelctl quantize" "$work/out" && fail "advice to quantize a transposed file"
    # A mix that would leave most of the model as it is, likewise.
    try 3 "$accelctl" quantize -n "$gpt2" Q4_K_M
    one_error "few of its matrices can be quantized: 8 are stored transposed, with inputs first"
    # F16 has no groups, so it is written transposed as well.
    try 0 "$accelctl" quantize "$gpt2" "$work/gpt2" --type f16
    has "F16         8 tensors"
    try 0 "$accelctl" plan "$work/gpt2"
    has "in F16"
else
    echo "SKIP: transposed matrices: gpt2-base is absent"
fi
# The remedy of a plan that converts a quantized file is one that quantize accepts.
try 0 "$accelctl" quantize "$f32" "$work/rounded.gguf" q8_0
try 0 "$accelctl" plan "$work/rounded.gguf" --set weights.type=q4
tr -s ' \n' '  ' <"$work/out" >"$work/line"
grep -q "once for all runs, of the original weights (F16, BF16 or F32); with --requantize also of this file" "$work/line" ||
    { cat "$work/out"; fail "remedy of a quantized file"; }
# Weights that are in 4 bits already are kept by the plan, and not by quantize.
try 0 "$accelctl" quantize "$f32" "$work/kept.gguf" q4_1
try 0 "$accelctl" plan "$work/kept.gguf" --set weights.type=q4
tr -s ' \n' '  ' <"$work/out" >"$work/line"
grep -q "with --requantize of this file; it also quantizes weights that the plan keeps as they are" "$work/line" ||
    { cat "$work/out"; fail "remedy of a file of which a plan keeps weights"; }
# A run of it is not silent either; one of floats has nothing to tell.
try 0 "$accelctl" run "$work/rounded.gguf" --set weights.type=q4 -n 1 Once
grep -qx " *[1-9][0-9]* were quantized in the file: each run rounds them again, .*" "$work/err" || { cat "$work/err"; fail "a run that rounds twice"; }
try 0 "$accelctl" run "$f32" --set weights.type=q4 -n 1 Once
grep -q "rounds them again" "$work/err" && fail "a run that rounds once"
try 0 "$accelctl" plan "$f32" --set weights.type=q4
has "remedy: accelctl quantize makes a file with the types of the plan, once for all runs"
grep -q requantize "$work/out" && fail "--requantize for a file of F32"
# With the options that the plan names, what is written has the types and bytes of the plan, also by a type without groups
# given, of a folder as of a file.
parts()
{
    try 0 "$accelctl" plan "$@" --json
    i=0
    while role=$("$json" "$work/out" - parts.$i.role 2>/dev/null); do
        echo "$role $(value parts.$i.type) $(value parts.$i.bytes)"
        i=$((i + 1))
    done | sort
}
for type in q4 q2 nf4 c4; do
    parts "$f32" --set weights.type=$type >"$work/planned"
    try 0 "$accelctl" quantize "$f32" "$work/as-planned" $type
    parts "$work/as-planned" | cmp - "$work/planned" || { cat "$work/planned"; fail "$type: the file is not as planned"; }
    rm "$work/as-planned"
    parts "$models/hf" --set weights.type=$type >"$work/planned"
    try 0 "$accelctl" plan "$models/hf" --set weights.type=$type
    roles=$(tr -s ' \n' '  ' <"$work/out" | sed -n 's/.*remedy: accelctl quantize with \(.*\) makes a file with the types.*/\1/p')
    [ -n "$roles" ] || { cat "$work/out"; fail "$type: a remedy without the embedding"; }
    # shellcheck disable=SC2086 # options
    try 0 "$accelctl" quantize "$models/hf" "$work/as-planned" $type $roles
    parts "$work/as-planned" | cmp - "$work/planned" || { cat "$work/planned"; fail "$type: the folder is not as planned"; }
    rm -r "$work/as-planned"
done
# An interrupt while the text is read leaves nothing that could be resumed.
i=0
while [ $i -lt 40 ]; do cat "$work/text"; i=$((i + 1)); done >"$work/long"
"$accelctl" quantize --type q4_g32 --method gptq --calib "$work/long" "$models/hf" "$work/calibrated" >"$work/out" 2>"$work/err" &
pid=$!
await_handler
kill -INT $pid 2>/dev/null
wait $pid
is $? 130 "status after an interrupt of a calibration"
one_error "cancelled after "
grep -q "^  remedy: nothing was written yet; the same command starts again" "$work/err" || { cat "$work/err"; fail "remedy of an interrupted calibration"; }
[ ! -e "$work/calibrated/model.safetensors.part" ] || fail "an interrupted calibration wrote a file"
# A resumed run says which figures are its own, and ends in the same bytes.
half=$ACCEL_TEST_BUILDDIR/tests/accelctl/half
try 0 "$half" "$f32" "$work/half.gguf" q8_0
[ -e "$work/half.gguf.part" ] || fail "no part of an interrupted run"
try 0 "$accelctl" quantize "$f32" "$work/half.gguf" q8_0
earlier=$(sed -n 's/^taken up where an earlier run ended: \([0-9]*\) of 4[78] tensors were there; errors and time .*this run$/\1/p' "$work/out")
[ "${earlier:-0}" -gt 0 ] || { cat "$work/out"; fail "a resumed run does not say what its figures are of"; }
grep -q "relative error .* (of [0-9]* of [0-9]* tensors; an earlier run wrote the others)" "$work/out" || { cat "$work/out"; fail "errors of a part"; }
try 0 "$accelctl" quantize "$f32" "$work/whole.gguf" q8_0
cmp "$work/half.gguf" "$work/whole.gguf" || fail "a resumed run ends in other bytes"
grep -q "earlier run" "$work/out" && fail "a whole run names an earlier one"
cp "$f32" "$work/x.gguf.part"
try 2 "$accelctl" quantize "$work/x.gguf.part" "$work/x.gguf"
one_error "is the file that is read"
try 2 "$accelctl" quantize "$f32" "$work/x.gguf"
one_error "exists and is not from an earlier run"
cmp "$f32" "$work/x.gguf.part" || fail "a file beside was changed"
cp -r "$models/hf" "$work/hf" && chmod -R u+w "$work/hf"
try 2 "$accelctl" quantize --type q4_g32 "$work/hf" "$work/hf/"
one_error "is the folder that is read"
cmp "$models/hf/config.json" "$work/hf/config.json" || fail "config.json was changed"
try 2 "$accelctl" quantize --keep 'no.such.*' --dry-run "$f32" "$out"
one_error "no.such.*"
name=$work/$(printf 'a\377b').gguf
try 0 "$accelctl" quantize --json --type q8_0 "$f32" "$name"
is "$(value path)" "$work/a?b.gguf" "a name that is not UTF-8"
name=$work/$(printf 'a\033[2Jb').gguf
try 0 "$accelctl" quantize --type q8_0 "$f32" "$name"
has "a?[2Jb.gguf"
try 3 "$accelctl" quantize "$work/$(printf 'a\302\233b')" "$name"
one_error "a?b:"

# Types that no container numbers run from both, with the same values: rows of a GGUF file stand in another order.
rm -rf "$work/packed"
for type in q3_g32 q4_row nf4_g64 c4_row; do
    try 0 "$accelctl" quantize --type $type --keep 'token*' "$f32" "$out"
    try 0 "$accelctl" quantize --type $type "$models/hf" "$work/packed"
    try 0 "$accelctl" plan --json "$out"
    case $(value model.types) in *$type*) ;; *) fail "types of a file of $type: $(value model.types)" ;; esac
    # shellcheck disable=SC2086
    try 0 "$accelctl" run "$out" --greedy --json -n 20 $exact --prompt "Once"
    ids=$(value ids)
    # shellcheck disable=SC2086
    try 0 "$accelctl" run "$work/packed" --greedy --json -n 20 $exact --prompt "Once"
    is "$(value ids)" "$ids" "ids of $type in a folder and in a GGUF file"
    try 0 "$accelctl" eval --json --against "$f32" "$out"
    is "$(value models.0.compared)" 47 "tensors that are compared, one of $type"
    try 2 "$accelctl" quantize --type q8_0 "$out" "$work/again.gguf"
    one_error "is quantized already"
    try 0 "$accelctl" quantize --requantize --type q8_0 "$out" "$work/again.gguf"
    try 0 "$accelctl" eval --json --against "$out" "$work/again.gguf"
    is "$(value models.0.compared)" 47 "tensors of a file of $type in another type"
    rm -rf "$work/packed" "$out"
done

# A full disk, as far as a limit on files is one: an error with a name, and no file of that name.
try 1 sh -c "ulimit -f 200; exec '$accelctl' quantize --type f32 '$f32' '$work/large.gguf'"
[ ! -e "$work/large.gguf" ] || fail "a file that could not be written has its name"
# Few tokens are said to be few.
try 2 "$accelctl" quantize -n --type q4 --calib-tokens 40 "$f32"
one_error "quantize: --calib-tokens has no effect without --calib"
try 0 "$accelctl" quantize -n --type q4 --group 32 --calib "$work/text" --calib-tokens 40 "$f32"
has "fewer than the 172 values of the widest row"
# A folder that is packed already is read as the matrices that it stands for: into another type, and back to plain values.
packed=$work/packed
try 0 "$accelctl" quantize --type q4_g32 --keep '*.mlp.*' "$models/hf" "$packed"
try 0 "$accelctl" quantize --requantize --type q3_g32 --keep '*.mlp.*' "$packed" "$work/packed-3" --json
is "$(value layout)" GPTQ "the layout of what was packed"
try 0 "$accelctl" quantize --type f32 "$packed" "$work/packed-f32" --json
is "$(value layout)" safetensors "the layout of plain values"
grep -q quantization_config "$work/packed-f32/config.json" && fail "plain values are said to be packed"
# A checkpoint that declares activations of 8 bits with one scale for a token: --advise offers them, and does not where it
# declares others.
cp -R "$work/packed-f32" "$work/declared"
for declared in '"int", "strategy": "token", "dynamic": true' '"int", "strategy": "tensor", "dynamic": false'; do
    sed "1s/{/{\"quantization_config\": {\"quant_method\": \"compressed-tensors\", \"config_groups\": {\"group_0\": {\"weights\": {\"num_bits\": 8, \"type\": \"int\", \"strategy\": \"channel\"}, \"input_activations\": {\"num_bits\": 8, \"type\": $declared}}}},/" \
        "$work/packed-f32/config.json" >"$work/declared/config.json"
    try 0 "$accelctl" plan "$work/declared" --advise slow
    case $declared in
    *token*) has "--set compute.activations=q8_row" ;;
    *) grep -q q8_row "$work/out" && fail "activations are offered that the checkpoint does not declare" ;;
    esac
done
is "$("$accelctl" run "$work/packed-f32" $exact -g -q -n 40 -p Once 2>"$work/err")" \
    "$("$accelctl" run "$packed" $exact -g -q -n 40 -p Once 2>>"$work/err")" "the text of packed and of plain values"
try 0 "$accelctl" quantize --requantize --type nf4_g32 "$packed" "$work/packed-nf4"
try 0 "$accelctl" quantize --requantize --type q8_g32 "$work/packed-nf4" "$work/packed-8"
try 3 "$accelctl" quantize --requantize --type q4_g32 "$packed" "$work/packed-same"
one_error "is q4_g32 already, which can be converted and not copied"

# Mixes: the head of stories260K is its embedding, of rows of 64 values, and wants Q6_K.
try 0 "$accelctl" quantize "$f32" "$out" Q4_K_M
has "Q4_K_M: a type for each matrix by the rules of llama-quantize"
grep -qE '^[0-9]+ matrices get Q5_0 instead of Q4_K, whose blocks do not divide their rows$' "$work/out" ||
    fail "matrices of Q4_K did not go up to Q5_0"
try 0 "$accelctl" info --json "$out"
is "$(value file_type)" Q4_K_M "the file type of a mix"
try 0 "$accelctl" quantize --json "$f32" "$out" q4_k_m 1
is "$(value mix)" Q4_K_M "the mix in JSON"
is "$(value tensors.0.to)" Q8_0 "the embedding that is the head as well"
# The default is the mix that llama.cpp recommends; --pure is one type for all; a role is stronger.
try 0 "$accelctl" quantize -n --json "$f32"
is "$(value mix)" Q4_K_M "the mix without a type"
try 0 "$accelctl" quantize -n --json --pure --type q4_0 "$f32"
is "$(value mix), $(value tensors.0.to)" "null, Q4_0" "one type for all"
# The name of a mix stands for the type of most of its matrices.
for name in Q4_K_M=Q4_K q4_k_s=Q4_K Q3_K_L=Q3_K q2_k_s=Q2_K mxfp4_moe=MXFP4; do
    try 0 "$accelctl" quantize -n --pure --tensors "$f32" "${name%=*}"
    cp "$work/out" "$work/pure"
    try 0 "$accelctl" quantize -n --pure --tensors --type "${name#*=}" "$f32"
    cmp "$work/pure" "$work/out" || fail "--pure ${name%=*} is not ${name#*=}"
    grep -q 'by the rules of llama-quantize' "$work/pure" && fail "--pure ${name%=*} is a mix"
done
try 0 "$accelctl" quantize -n --json --type q4_0 --role embedding=q5_1 "$f32"
is "$(value tensors.0.to)" Q5_1 "a role beside a mix"
# Rules by role: a folder has them, too. Its rows of 64 values hold blocks of 32.
try 0 "$accelctl" quantize -n --tensors "$models/hf" Q4_K_M
grep -qE 'layers.2.self_attn.v_proj.weight .* Q8_0 .* of Q6_K$' "$work/out" || fail "no mix for a folder"
grep -qE 'layers.0.self_attn.k_proj.weight .* Q5_0 .* of Q4_K$' "$work/out" || fail "no mix for a folder"
# The types are those of the same model in a GGUF file, the embedding included.
for type in Q4_K_M Q3_K_S Q8_0; do
    try 0 "$accelctl" quantize -n "$f32" $type
    grep -E '^  [A-Z]|matri(x|ces) get|stays? F32' "$work/out" | sort >"$work/types-gguf"
    try 0 "$accelctl" quantize -n "$models/hf" $type
    grep -E '^  [A-Z]|matri(x|ces) get|stays? F32' "$work/out" | sort >"$work/types-folder"
    cmp "$work/types-gguf" "$work/types-folder" || { diff "$work/types-gguf" "$work/types-folder"; fail "$type of a folder"; }
    has "11 tensors stay F32: no matrix"
done
try 0 "$accelctl" quantize "$models/hf" "$work/mixed" Q4_K_M
try 0 "$accelctl" run "$work/mixed" -g -q -n 20 -p "Lily and Tom"
has " were playing in the park."
# What stays as it is has a line with the reason.
try 0 "$accelctl" quantize -n "$models/hf" --type q4 --group 32
has "1 tensor stays F32: no linear layer (model.embed_tokens.weight), which --role ROLE=TYPE converts: --role embedding=q8_0"
try 0 "$accelctl" quantize -n "$models/hf" --type q4 --group 32 --role embedding=q8_0 --keep '*.mlp.*'
grep -q "no linear layer" "$work/out" && fail "a converted embedding stays"
has "15 tensors stay F32: unchanged on request"
try 0 "$accelctl" quantize -n "$models/hf" --type q4 --group 32 --json
is "$(value kept.0.tensors) $(value kept.0.type) $(value kept.0.reason)" "1 F32 no linear layer" "kept in JSON"
# Without a type it is Q4_K_M, and a line says so; a budget chooses types by itself.
try 0 "$accelctl" quantize -n "$f32"
is "$(cat "$work/err")" "note: no TYPE is named: it is Q4_K_M, which llama.cpp and Ollama download if none is named, too; accelctl quantize --help lists the others" \
    "the type that is taken without one"
for option in q8_0 "--type q8_0" "--budget 400KB" --sensitivity; do
    # shellcheck disable=SC2086
    try 0 "$accelctl" quantize -n "$f32" $option
    grep "no TYPE is named" "$work/err" && fail "a note of a type with $option"
done
# The order of llama-quantize, and what is wrong with it.
try 0 "$accelctl" quantize -n "$f32" "$out" Q8_0 2
try 2 "$accelctl" quantize "$f32" Q4_K_M
one_error "OUT is missing"
try 2 "$accelctl" quantize "$f32" "$out" Q4_K_X
one_error "did you mean q4_k_"
try 2 "$accelctl" quantize --type q8_0 "$f32" "$out" q4_0
one_error "two types"
try 2 "$accelctl" quantize "$f32" "$out" q4_0 many
one_error "number of threads"
try 2 "$accelctl" quantize "$f32" "$out" Q2_K_S
one_error "needs a calibration text"
try 2 "$accelctl" plan "$f32" --set weights.type=q2_k_s
one_error '"q2_k_s" is none of'
try 0 "$accelctl" quantize -n --calib "$work/text" "$f32" "$out" Q2_K_S
# Quantized input: refused, unless it is unpacked, kept, or the loss is allowed.
try 0 "$accelctl" quantize "$f32" "$out" Q8_0
try 2 "$accelctl" quantize "$out" "$work/again.gguf" Q4_0
one_error "is quantized already"
grep -q 'remedy: .*--requantize' "$work/err" || fail "no remedy for quantized input"
[ ! -e "$work/none.gguf" ] || fail "a refused run wrote a file"
try 2 "$accelctl" quantize -n "$out" Q4_0
try 0 "$accelctl" quantize --allow-requantize "$out" "$work/again.gguf" Q4_0
has "requantized: "
has "relative errors above are against IN, whose own rounding error comes on top"
try 0 "$accelctl" quantize --requantize -n "$work/again.gguf" Q8_0
has "larger than IN: its types take fewer bits"
try 0 "$accelctl" quantize -n --type cluster4 --group 32 "$f32" "$work/clustered.gguf"
has "c4_g32"
try 0 "$accelctl" quantize -n --requantize "$out" Q4_0
has "the errors will be those against IN, whose own rounding error comes on top"
try 0 "$accelctl" quantize --requantize --json "$out" "$work/again.gguf" Q4_0
is "$(number requantized)" 30 "requantized matrices"
try 0 "$accelctl" quantize "$out" "$work/again.gguf" f16
grep -q '^requantized' "$work/out" && fail "unpacked matrices are said to be requantized"
try 0 "$accelctl" quantize "$out" "$work/again.gguf" q8_0

finish
