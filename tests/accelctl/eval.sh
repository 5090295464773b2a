#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What files lost, through the command: a table, JSON, a page, and what it refuses.
. "$ACCEL_TEST_SRCDIR/tests/accelctl/lib.sh"

cat >"$work/text" <<'END'
Once upon a time, there was a little girl named Lily. She loved to play outside in the park with her friends. One day,
she saw a big red ball under a tree. She wanted to play with it, but it was too high.
END
try 0 "$accelctl" quantize --pure --type q4_0 "$f32" "$work/q4.gguf"
# shellcheck disable=SC2086
try 0 "$accelctl" eval $exact --text "$work/text" --against "$f32" "$q8" "$work/q4.gguf" --html "$work/page.html"
has "<s>"
has "KL mean"
has "47 of 47 tensors compared; the largest relative errors:"
[ "$(grep -c '<svg viewBox' "$work/page.html")" = 4 ] || fail "a page with four charts"
grep -qF '</html>' "$work/page.html" || fail "a page has no end"
if grep -qE 'nan|inf,|src=|href=|<script' "$work/page.html"; then fail "a page wants other files, or has no numbers"; fi
[ "$(find "$work" -name 'page.html.*')" = "" ] || fail "a part of the page is left"

# shellcheck disable=SC2086
try 0 "$accelctl" eval $exact --json --chunk 16 --stride 8 --tokens 40 --text "$work/text" --against "$f32" "$f32" \
    "$work/q4.gguf"
is "$(value text.stride)" 8 "stride"
is "$(value models.0.text.kl.mean | cut -c 1-4)" 0.0 "divergence of a file from itself"
is "$(value models.0.text.top1.share)" 1.0 "agreement of a file with itself"
is "$(value models.0.relative_error)" 0.0 "errors of a file against itself"
is "$(value models.1.text.predicted)" 40 "predicted tokens"
case $(value models.1.text.kl.mean) in 0.0[0-9]*) ;; *) fail "divergence: $(value models.1.text.kl.mean)" ;; esac
# A context of --set is the window; one that the model was not trained for is refused as plan and run refuse it.
try 0 "$accelctl" eval --json --text "$work/text" --set context=16 "$q8"
is "$(value text.chunk) $(value text.stride)" "16 15" "windows of --set context, less the token that begins each"
is "$(value text.origin.chunk)" "given: --set context" "origin of the chunk"
try 0 "$accelctl" eval --json --text "$work/text" --set context=auto "$q8"
is "$(value text.chunk)" 512 "windows of a context that is left to the model"
try 0 "$accelctl" eval --json --text "$work/text" "$q8"
is "$(value text.origin.chunk)" "builtin: 512 tokens, or the smallest trained context of the models" "origin of the chunk"
is "$(value text.origin.stride)" "builtin: the tokens of the text in a whole window, so that none overlap" "origin of the stride"
try 0 "$accelctl" eval --json --text "$work/text" -c 16 --stride 8 "$q8"
is "$(value text.origin.chunk), $(value text.origin.stride)" "given: --chunk, given: --stride" "origins that are given"
for way in "--set context=9000" "-c 9000"; do
    # shellcheck disable=SC2086
    try 2 "$accelctl" eval --text "$work/text" $way "$q8"
    one_error "context=9000: $q8 was trained for 512 tokens"
    # What the remedy says to type helps.
    way=$(sed -n 's/^  remedy: \(-.* *[0-9]*\), or --set context.beyond.*/\1/p' "$work/err")
    # shellcheck disable=SC2086
    try 0 "$accelctl" eval --text "$work/text" $way "$q8"
done
is "$way" "-c 512" "remedy of --chunk"
try 2 "$accelctl" eval --text "$work/text" -c 16 --set context=16 "$q8"
one_error "--chunk and --set context both give"
for option in -c --ctx-size; do
    try 2 "$accelctl" eval --text "$work/text" $option 9000 "$q8"
    one_error "command line $option 9000: context=9000: "
done
try 2 "$accelctl" eval --text "$work/text" -c 16 --stride 17 "$q8"
one_error "eval: --stride 17 leaves gaps between windows of 16 tokens"
try 2 "$accelctl" eval --text "$work/text" --set context=1 "$q8"
one_error "--set context: a window has 2 tokens or more"
try 2 "$accelctl" eval --text "$work/text" --against "$q8" --reference-set context=16 "$q8"
one_error "--reference-set context"
# One file under two settings: what rounding activations to 8 bits loses, and nothing where the settings are the same.
try 0 "$accelctl" eval --json --text "$work/text" --set compute.activations=q8 --against "$q8" \
    --reference-set compute.activations=f32 "$q8"
is "$(value settings.0), $(value reference_settings.0)" "compute.activations=q8, compute.activations=f32" "settings"
case $(value models.0.text.kl.mean) in 0.0 | [!0]*) fail "KL of q8 activations: $(value models.0.text.kl.mean)" ;; esac
# One scale for a token: coarser than blocks, for weights of 8 bits in groups of 64 and more, where kernels are not scalar.
try 0 "$accelctl" quantize --type q8_g64 "$f32" "$work/g64"
for isa in auto scalar; do
    try 0 "$accelctl" eval --json --text "$work/text" --set compute.activations=q8_row --set cpu.isa=$isa --against "$work/g64" \
        --reference-set compute.activations=q8 "$work/g64"
    is "$(value settings.0)" "compute.activations=q8_row" "settings"
    case $isa,$(value models.0.text.kl.mean) in
    scalar,0.0 | [!s]*,0.0*[1-9]*) ;;
    *) fail "KL of q8_row activations, $isa: $(value models.0.text.kl.mean)" ;;
    esac
    # A plan says where no kernel follows the setting.
    try 0 "$accelctl" plan "$work/g64" --device cpu --set compute.activations=q8_row --set cpu.isa=$isa
    noted=$(grep -c "q8_row changes nothing: no kernel of cpu:cpu0" "$work/out")
    case $isa,$noted in
    scalar,1 | [!s]*,0) ;;
    *) fail "$noted notes on q8_row activations, $isa" ;;
    esac
done
# shellcheck disable=SC2086
try 0 "$accelctl" eval --json $exact --text "$work/text" --against "$q8" --reference-set compute.activations=f32 "$q8"
is "$(value models.0.text.kl.mean)" 0.0 "KL of equal settings"
try 0 "$accelctl" eval --text "$work/text" --against "$q8" --reference-set compute.activations=f32 "$q8"
has "           compute.activations=f32"
try 2 "$accelctl" eval --against "$q8" --reference-set compute.activations=f32 "$q8"
one_error "--reference-set needs --text and --against"
try 2 "$accelctl" eval --text "$work/text" --against "$q8" --reference-set nonsense "$q8"
one_error "--reference-set requires KEY=VALUE"
try 0 "$accelctl" eval --against "$f32" "$q8" --worst 1
has "F32 to Q8_0"
try 0 "$accelctl" eval --text "$work/text" "$q8"

# Without a text no model runs, and options of a run are refused.
for option in "-ctk q8_0" "--device cpu" "--set batch=16"; do
    # shellcheck disable=SC2086 # words
    try 2 "$accelctl" eval --against "$f32" "$q8" $option
    one_error "$option has no effect: without --text tensors are compared, and no model runs"
done
try 2 "$accelctl" eval --text "$work/text" -t 1 --set cpu.threads=2 "$q8"
one_error "cpu.threads=2 has no effect, since cpu.threads=1 is fixed (command line -t 1)"

# Options that nothing uses are refused.
for option in "--group 64" "--scheme asymmetric" "--method nearest" "--calib $work/text"; do
    # shellcheck disable=SC2086 # words
    try 2 "$accelctl" eval --text "$work/text" --against "$f32" "$q8" $option
    one_error "eval: ${option%% *} has no effect without --bits, --type or --budget"
done
try 2 "$accelctl" eval "$f32" --type q4_k --group 64
one_error "eval: --group and --scheme have no effect: no version has a planar type"
try 2 "$accelctl" eval "$f32" --bits 4 --candidate q4_k
one_error "eval: --candidate has no effect without --budget"
try 2 "$accelctl" eval "$f32" --bits 4 --calib-tokens 40
one_error "eval: --calib-tokens has no effect without --calib"
try 2 "$accelctl" eval --against "$f32" "$q8" --threads 2
one_error "eval: --threads has no effect without --text, --bits, --type or --budget"
try 2 "$accelctl" eval --text "$work/text" "$q8" --worst 3
one_error "eval: --worst has no effect without --against, --bits, --type or --budget"

# A page that does not fit leaves nothing, and says why: a full disk, as far as a limit on files is one.
try 1 sh -c 'ulimit -f 8; exec "$@"' sh "$accelctl" eval --against "$f32" "$q8" --html "$work/large.html"
one_error "large.html: File too large"
grep -q 'remedy: files of this process may have .* bytes (ulimit -f): raise the limit' "$work/err" ||
    { cat "$work/err"; fail "no remedy of a limit on files"; }
[ "$(find "$work" -name 'large.html*')" = "" ] || fail "a part of a large page is left"
try 2 "$accelctl" eval "$q8"
one_error "--text"
try 2 "$accelctl" eval --against "$f32" --chunk 9 "$q8"
one_error "eval: --chunk, --stride and --tokens require --text"
try 3 "$accelctl" eval --against "$f32" "$src/tests/fixtures/qwen2-tied"
one_error "has no tensor"
try 3 "$accelctl" eval --against "$models/hf" "$src/tests/fixtures/qwen2-tied"
one_error "has no tensor that can be compared with one of $models/hf: of "
try 3 "$accelctl" eval --text "$work/text" --against "$src/tests/fixtures/qwen2-tied" "$q8"
one_error "qwen2-tied"
try 3 "$accelctl" eval --text "$work/none" "$q8"
one_error "none"
try 1 "$accelctl" eval --against "$f32" --html "$work/no/page.html" "$q8"
one_error "page.html"

# Versions that it makes itself, in a folder that goes however it ends.
mkdir "$work/tmp"
TMPDIR=$work/tmp
export TMPDIR
gone()
{
    wait_until $$ is_empty "$work/tmp" || fail "left in TMPDIR after $1: $(ls -A "$work/tmp")"
}
try 0 "$accelctl" eval "$f32" --bits 4,8 --type block --type q6_k --text "$work/text"
has "reference  $f32"
has "q4_0"
has "Q8_0  "
[ "$(ls -A "$work/tmp")" = "" ] || fail "left in TMPDIR: $(ls -A "$work/tmp")"
try 0 "$accelctl" eval "$models/hf" --bits 2,3,4,8 --group 32 --scheme asymmetric --json --worst 0
is "$(value models.0.name) $(value models.3.types.0.type)" "q2_g32a q8_g32a" "versions of a folder"
is "$(value models.0.made) $(value models.0.path)" "true null" "a version has no path"
is "$(value models.2.types.2.tensors)" 30 "tensors of a type"
try 0 "$accelctl" eval --against "$f32" --type q4_0 "$q8" --json --worst 0
is "$(value models.0.made) $(value models.1.name)" "false q4_0" "versions beside a file"
try 0 "$accelctl" eval "$models/hf" --type q2 --group 32 --method search --method gptq --calib "$work/text" --json \
    --worst 0
is "$(value models.0.name), $(value models.1.name)" "q2_g32 search, q2_g32 gptq" "versions by method"
try 2 "$accelctl" eval "$f32" --type q4_0 --method gptq
one_error "requires a --calib"
try 2 "$accelctl" eval "$f32" --bits 7
one_error "has 7 bits"
try 2 "$accelctl" eval "$f32" --bits 4,x
one_error "--bits requires"
try 2 "$accelctl" eval "$f32" --type k
one_error "requires --bits"
try 2 "$accelctl" eval "$f32" --bits 4 --group 33
one_error "--group requires"
try 3 "$accelctl" eval "$f32" --type q9_z --text "$work/text"
one_error "q9_z"
gone "errors"
TMPDIR=$work/none try 1 "$accelctl" eval "$f32" --type q4_0
one_error "$work/none"

# An interrupt ends it with its own status, and leaves no page.
i=0
while [ $i -lt 400 ]; do
    cat "$work/text"
    i=$((i + 1))
done >"$work/long"
"$accelctl" eval --text "$work/long" --against "$f32" "$q8" "$work/q4.gguf" --html "$work/late.html" >"$work/out" 2>"$work/err" &
pid=$!
await_handler
kill -INT $pid
wait $pid
is $? 130 "status of an interrupt"
[ ! -e "$work/late.html" ] || fail "an interrupted evaluation wrote a page"

has_version()
{
    ! is_empty "$work/tmp"
}
for signal in TERM KILL; do
    "$accelctl" eval --text "$work/long" "$f32" --type q4_0 >"$work/out" 2>"$work/err" &
    pid=$!
    wait_until $pid has_version
    kill -$signal $pid
    wait $pid
    gone "SIG$signal"
done
# A reference is model enough for versions of it.
try 0 "$accelctl" eval --against "$f32" --bits 4 --group 32
has "q4_g32"
has "error: relative, of tensors"
try 2 "$accelctl" eval --text "$work/text"
one_error "requires an argument"
# A version is named after the groups that it has: rows of 64 hold no group of 128, rows of 172 none at all.
try 0 "$accelctl" eval "$f32" --bits 3,4 --type planar --type q4_g32 --worst 0
for name in q3_g64 q4_g64 q4_g32; do
    grep -q "^$name " "$work/out" || { cat "$work/out"; fail "no version is named $name"; }
done
grep -q g128 "$work/out" && fail "a version is named after groups that it has not"
try 0 "$accelctl" eval "$f32" --type q4 --method search --method nearest --worst 0
grep -q "^q4_g64 search " "$work/out" || fail "no q4_g64 search"
finish
