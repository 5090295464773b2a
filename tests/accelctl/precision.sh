#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Weights that a run makes of another type than the file's: the types of a plan run from any file, memory is what was
# planned, precision steps down to fit a budget and up where the measured error is over the tolerance, and each step is
# told with before and after.
. "$ACCEL_TEST_SRCDIR/tests/accelctl/lib.sh"

groups="--set weights.group=32"

# memory_as_planned WHAT: of the run whose JSON was printed last.
memory_as_planned()
{
    is "$(value memory.allocated)" "$(value memory.planned)" "memory $1"
}

# The text of a run is that of the same numbers in f32: eight bits change no greedy token here.
# shellcheck disable=SC2086
{
    try 0 "$accelctl" run "$f32" $exact -g -n 60 -q -p "Once upon a time"
    cp "$work/out" "$work/plain"
    try 0 "$accelctl" run "$f32" $exact -g -n 60 -q -p "Once upon a time" --set weights.type=q8 $groups
    is "$(cat "$work/out")" "$(cat "$work/plain")" "the text of weights converted to q8"
    for type in q8 q4 q3 q2; do
        try 0 "$accelctl" run "$f32" -n 5 -p Once --set weights.type=$type $groups --json
        "$json" "$work/out" accelctl/run/1 || fail "--json of $type"
        memory_as_planned "of $type"
    done
    # Fewer bits take fewer bytes.
    try 0 "$accelctl" plan "$f32" --json --set weights.type=q4 $groups
    four=$(value verdict.needed)
    try 0 "$accelctl" plan "$f32" --json --set weights.type=q2 $groups
    [ "$(value verdict.needed)" -lt "$four" ] || fail "q2 takes no less than q4"
}

# Down: nothing changes where the plan fits, the least lossy matrices first where it does not, weights.least is the floor.
try 5 "$accelctl" plan "$f32" --all --set memory.budget=1600KiB
try 0 "$accelctl" plan "$f32" --all --set memory.budget=1600KiB --set precision.dynamic=true
has "FITS"
has "precision.dynamic"
has "step down from f32"
try 0 "$accelctl" plan "$f32" --all --set memory.budget=8MiB --set precision.dynamic=true
grep -q "step down" "$work/out" && fail "steps without need"
try 0 "$accelctl" run "$f32" -n 5 -p Once --set memory.budget=1600KiB --set precision.dynamic=true --json
memory_as_planned "after steps"
[ "$(value memory.allocated)" -le 1638400 ] || fail "over the budget"
case $(value weights.0) in *"step"*" down from f32, "*" bytes, relative error 0.00000, to f16, "*)  ;; *) fail "weights.0: $(value weights.0)" ;; esac
try 0 "$accelctl" run "$f32" -n 5 -p Once --set memory.budget=1284KiB --set precision.dynamic=true
try 5 "$accelctl" run "$f32" -n 5 -p Once --set memory.budget=1284KiB --set precision.dynamic=true \
    --set weights.least=q8
one_error "more than the budget"

# The floor limits conversions: of f32 to q4 it makes q8, and what is q4 in the file stays so, which is noted.
try 0 "$accelctl" plan "$f32" --parts --set weights.type=q4 --set weights.least=q8
[ "$(grep -c '^  language  .* q8_g64' "$work/out")" -ge 6 ] && ! grep -q "^  language .* q4" "$work/out" ||
    { cat "$work/out"; fail "weights.least=q8 is no floor of weights.type=q4"; }
try 0 "$accelctl" quantize "$f32" "$work/q4.gguf" Q4_0
for command in "plan --all" "run -n 2 -p x"; do
    # shellcheck disable=SC2086
    try 0 "$accelctl" $command "$work/q4.gguf" --set weights.least=q8
    cat "$work/out" "$work/err" | tr -s '\n ' ' ' | grep -q "weights.least=q8.*matrices that are q4_0 in the file stay so" ||
        { cat "$work/out" "$work/err"; fail "$command: no note of weights.least"; }
done
try 0 "$accelctl" plan "$f32" --all --set weights.least=q8
grep -q "in the file stay so" "$work/out" && fail "a note of weights.least above the floor"

# Up: what is over the tolerance gets more bits, and no matrix stays over it where memory allows.
try 0 "$accelctl" plan "$f32" --all --set weights.type=q2 --set weights.group=32 --set precision.measure=true
grep -q "step up" "$work/out" && fail "steps up without a tolerance"
has "36 matrices are converted: relative error 0.3"
try 0 "$accelctl" plan "$f32" --all --set weights.type=q2 --set weights.group=32 --set precision.measure=true \
    --set precision.tolerance=120
has "step up from q2_g32"
has "to q4_g32"
has "36 matrices are converted: relative error 0.0"
try 0 "$accelctl" run "$f32" -n 3 -p Once --set weights.type=q2 --set weights.group=32 --set precision.tolerance=20
grep -q "^weights    .* step up from q2_g32" "$work/err" || fail "a run does not tell of its steps"

# A plan that fits still fits after steps up, where types that differ between a gate and its other half need more scratch.
try 0 "$accelctl" plan "$f32" --json --set weights.type=q2 --set weights.group=32
needed=$(value verdict.needed)
for spare in 8 40 76 112 150 184 188 192 220 228 232; do
    for tolerance in 1 20; do
        try 0 "$accelctl" plan "$f32" --json --set weights.type=q2 --set weights.group=32 \
            --set memory.budget=$((needed / 1024 + spare))KiB --set precision.tolerance=$tolerance
        [ "$(value verdict.needed)" -gt "$needed" ] || fail "no step up with $spare KiB, tolerance $tolerance"
    done
done
budget=$((needed / 1024 + 185))
try 0 "$accelctl" run "$f32" -n 5 -p Once --json --set weights.type=q2 --set weights.group=32 --set memory.budget=${budget}KiB \
    --set precision.tolerance=1
memory_as_planned "after steps up"
[ "$(value memory.allocated)" -le $((budget * 1024)) ] || fail "steps up exceed the budget"

# The file's own type is exact: matrices that were converted to more bytes return to it, and their bytes are spare.
try 0 "$accelctl" plan "$work/q4.gguf" --all --set weights.type=q8 --set weights.group=32 --set precision.tolerance=1
grep -q "step up from q8_g32" "$work/out" || { cat "$work/out"; fail "no return to the type of the file"; }
grep "^  language  .* q8_g32" "$work/out" >"$work/left"
[ "$(awk '{ n += $3 } END { print n + 0 }' "$work/left")" -le 6 ] || { cat "$work/left"; fail "matrices stay converted"; }

# A line for each matrix that was converted.
try 0 "$accelctl" run "$f32" -n 3 -p Once --set weights.type=q4 --set weights.group=32 --set log.quantization=true
is "$(grep -c '^weights    .*: F32, .* bytes -> [a-z0-9_]*, .* bytes: relative error 0\.' "$work/err")" 36 "lines of conversions"

# Rows that a group of the user does not divide get a smaller one, or f16: plan and run print what is not honored.
try 0 "$accelctl" run "$q8" -g -n 2 -p Once --set weights.type=q2 --set weights.group=512
grep -qF "not honored: weights.group=512, groups of 64 for rows of 64: 512 does not divide them" "$work/err" ||
    { cat "$work/err"; fail "a run in smaller groups does not report it"; }
grep -qF "(31), f32 2.75 KiB (11), f16 107.5 KiB (5)" "$work/err" ||
    { cat "$work/err"; fail "a run with matrices in f16 does not report it"; }
try 0 "$accelctl" plan "$q8" --set weights.type=q2 --set weights.group=512
grep -q "^not honored: weights.group=512, groups of 64 for rows of 64: 512 does not divide them" "$work/out" || { cat "$work/out"; fail "plan of other groups"; }

try 0 "$accelctl" plan "$f32" --set role.head=q8
has "not honored: role.head=q8, no matrix is a head; a tied one has role.embedding"

# Keys and values in few bits: heads of 8 elements have no groups, and a policy decides what becomes of that.
try 4 "$accelctl" run "$f32" -n 2 -p Once --set kv.type.k=q4
one_error "heads of 8 elements have no group of 32 or more"
try 0 "$accelctl" run "$f32" $exact -g -n 20 -q -p Once --set kv.type.k=q4 --set fallback.kv=warn
wide=${ACCEL_SHARED_FIXTURES:-/nowhere}/gguf-wide/wide-f16.gguf
if [ -f "$wide" ]; then
    try 0 "$accelctl" run "$wide" -g -n 8 -p a --json
    ids="$(value ids.0) $(value ids.1) $(value ids.2) $(value ids.3)"
    full=$(value memory.classes.state.planned)
    for type in q8 q4; do
        # The first tokens have few keys, so that rounding them changes nothing yet.
        try 0 "$accelctl" run "$wide" -g -n 8 -p a --json --set kv.type.k=$type --set kv.type.v=$type
        is "$(value ids.0) $(value ids.1) $(value ids.2)" "${ids% *}" "the first tokens with $type"
        memory_as_planned "with $type"
        echo "keys and values in $type: $(value memory.classes.state.planned) bytes, $full in f16"
    done
    # 34 bytes where f16 has 128, and each part a whole number of KiB.
    [ $(($(value memory.classes.state.planned) * 128)) -le $((full * 38)) ] || fail "bytes of keys and values in q4"
else
    echo "SKIP: keys and values of wide heads: no ACCEL_SHARED_FIXTURES"
fi

# Experts are converted as other matrices: the run loads the types of the plan, and computes what the quantized folder does.
mixture=${ACCEL_SHARED_FIXTURES:-/nowhere}/mixtral-tiny
if [ -d "$mixture" ]; then
    cp -r "$mixture" "$work/mixture"
    cp "$src/tests/fixtures/tokenizers/tiny-bpe/tokenizer.json" "$work/mixture"
    for type in q4_k_m mxfp4_moe; do
        rm -rf "$work/quantized"
        try 0 "$accelctl" quantize "$work/mixture" "$work/quantized" $type
        try 0 "$accelctl" trace "$work/quantized" --in "$mixture/inputs.safetensors" --out "$work/of_file"
        try 0 "$accelctl" trace "$work/mixture" --in "$mixture/inputs.safetensors" --out "$work/of_load" \
            --set weights.type=$type
        cmp "$work/of_file" "$work/of_load" || fail "experts converted to $type differ from those of the quantized folder"
        try 0 "$accelctl" run "$work/mixture" -n 4 -p a --json --set weights.type=$type
        memory_as_planned "of experts in $type"
        is "$(value memory.classes.weights.allocated)" "$(value memory.classes.weights.planned)" "experts in $type"
        try 0 "$accelctl" plan "$work/mixture/config.json" --json --set weights.type=$type
        "$json" "$work/out" - "parts.*.bytes" >"$work/named"
        try 0 "$accelctl" plan "$work/mixture" --json --set weights.type=$type
        is "$("$json" "$work/out" - "parts.*.bytes" | awk '{ s += $1 } END { print s }')" \
            "$(awk '{ s += $1 } END { print s }' "$work/named")" "bytes of the folder in $type, and by its configuration"
    done
    # They take part where types are chosen by precision.
    for settings in "precision.dynamic=true --set memory.budget=1100KiB" "precision.adaptive=true" \
        "weights.type=q2 --set weights.group=32 --set precision.tolerance=100"; do
        # shellcheck disable=SC2086
        try 0 "$accelctl" run "$work/mixture" -n 4 -p a --json --set $settings
        memory_as_planned "of experts with $settings"
        # shellcheck disable=SC2086
        try 0 "$accelctl" plan "$work/mixture" --all --set $settings
        grep -Eq "ffn.(up|down|gate): [1-8] matri.* steps? (down|up)|ffn.gate +8 q4_" "$work/out" ||
            { cat "$work/out"; fail "experts are left out with $settings"; }
    done
    try 0 "$accelctl" plan "$work/mixture" --all --set weights.type=mxfp4_moe
    grep -q "mxfp4" "$work/out" || fail "mxfp4_moe makes no experts in mxfp4"
    # Experts with a limit are read from the file, and so in its type.
    for command in plan "run -n 4 -p a"; do
        # shellcheck disable=SC2086
        try 0 "$accelctl" $command "$work/mixture" --set weights.type=q4_0 --set cpu.expert_bytes=200KiB
        cat "$work/out" "$work/err" | tr -s '\n ' ' ' >"$work/line"
        grep -qF "not honored: weights.type=q4_0, experts stay f32: they are read from the file" "$work/line" ||
            { cat "$work/out" "$work/err"; fail "$command: nothing about experts that stay in the type of the file"; }
    done
else
    echo "SKIP: experts: no ACCEL_SHARED_FIXTURES"
fi

finish
