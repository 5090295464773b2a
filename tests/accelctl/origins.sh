#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every number of the documents of all commands has its origin (tests/accelctl/bench.sh: bench); what is not known is null; a rate needs
# tokens and time; allocated memory is told apart from that of the process.
. "$ACCEL_TEST_SRCDIR/tests/accelctl/lib.sh"

# origins WHAT: no number of the document in $work/out is without an origin.
origins()
{
    checks=$((checks + 1))
    "$json" "$work/out" --origins >"$work/missing" || { head -5 "$work/missing"; fail "numbers without origins: $1"; }
}

# The check itself finds a number without one, one whose object speaks of another, and a word that is none.
for document in '{"a": 1}' '{"a": {"origin": "measured: x", "b": 1}, "c": [2]}' \
    '{"origin": {"a": "measured"}, "b": {"a": 1}}' '{"origin": "guessed: x", "a": 1}'; do
    echo "$document" >"$work/out"
    checks=$((checks + 1))
    "$json" "$work/out" --origins >/dev/null && fail "$document passes"
done
echo '{"origin": {"a": "measured: x", "c": "given"}, "a": [{"b": 1}], "c": {"d": 2}, "e": null}' >"$work/out"
origins "the check"

# run: one token has no rate, 40 have one; the peak of the process is larger than what is allocated in this small model.
try 0 "$accelctl" run "$q8" --json --greedy --ignore-end -n 1 --prompt Once
origins "run of one token"
is "$(value time.tokens_per_second)" null "rate of one token"
is "$(value time.prompt_tokens_per_second)" null "rate of a prompt of two tokens"
grep -q '"measured":' "$work/out" && fail "what is allocated is called measured"
[ "$(number memory.vm_hwm)" -gt "$(number memory.allocated)" ] || fail "the process has less than it allocates"
libraries=$(number memory.driver_libraries)
[ "$libraries" -gt 4096 ] && [ "$libraries" -lt "$(number memory.vm_hwm)" ] || fail "driver libraries: $libraries bytes"
try 0 "$accelctl" run "$f32" --greedy --ignore-end -n 1 --prompt Once
grep -q 'tokens/s' "$work/err" && fail "a rate of one token: $(cat "$work/err")"
# The help says from how many tokens on there is a rate, and there is one from then on.
from=$("$accelctl" run --help | tr -s ' \n' ' ' | sed -n 's/.*tokens per second (from \([0-9]*\) tokens and .*/\1/p')
try 0 "$accelctl" run "$f32" --json --greedy --ignore-end -n $((from - 1)) --prompt Once
is "$(value time.tokens_per_second)" null "rate of $((from - 1)) tokens"
try 0 "$accelctl" run "$f32" --json --greedy --ignore-end -n "$from" --prompt Once
value time.tokens_per_second | awk '{ exit !($1 > 0) }' || fail "no rate of $from tokens"
rm "$XDG_STATE_HOME/accel/history.jsonl"
try 0 "$accelctl" run "$f32" --greedy --ignore-end -n 1 --prompt Once
grep -q '^memory     planned .*, allocated .*(mapped weights: ' "$work/err" || fail "no allocated memory"
grep -q '^process    peak .* (VmHWM), driver libraries .* resident now$' "$work/err" || fail "no peak of the process"
grep -q '"tokens_per_1000_s"' "$XDG_STATE_HOME/accel/history.jsonl" && fail "the rate of one token is in the history"
try 0 "$accelctl" plan "$f32" --json
is "$(value speed.0.origin)" "nothing was measured on this device; accelctl doctor --measure or a run measures it" \
    "speed after runs of one token"
try 0 "$accelctl" run "$f32" --json --greedy --ignore-end -n 200 --prompt "Once upon a time there was a girl"
origins "run of 200 tokens"
value time.tokens_per_second | awk '{ exit !($1 > 0) }' || fail "no rate of 200 tokens"
# What is learned of a run counts the tokens that its cache held: 90 more on average at 640 bytes each.
history=$XDG_STATE_HOME/accel/history.jsonl
for tokens in 20 200; do
    try 0 "$accelctl" run "$f32" -q --greedy --ignore-end -n $tokens --prompt Once
    short=${long:-0}
    long=$(sed -n '$s/.*"step_bytes":\([0-9]*\).*/\1/p' "$history")
done
is $((long - short)) 57600 "bytes of a step of a run of 200 tokens over those of one of 20"
# A peak below what is allocated is explained.
try 0 "$accelctl" run "$f32" -n 2 Once --no-cache -c 131072 --set context.beyond_training=true
grep -q "^ *the peak is less than allocated, since untouched pages take no memory$" "$work/err" ||
    fail "a peak below what is allocated"
# Runs of this model are those of its contents: a copy elsewhere is it, other weights of the same shapes are not.
rm "$history"
try 0 "$accelctl" run "$f32" -q --greedy --ignore-end -n 40 --prompt Once
# Runs without a speed do not push those with one out of the newest ones that a plan reads.
newest=$(sed -n '$s/"tokens_per_1000_s":[0-9]*,//p' "$history" | sed 's/"tokens":[0-9]*/"tokens":5/')
for run in $(seq 25); do
    printf '%s\n' "$newest"
done >>"$history"
cp "$f32" "$work/copy.gguf"
try 0 "$accelctl" plan "$work/copy.gguf" --json
is "$(value speed.0.origin)" "measured: 1 run of this model with these settings, of 40 tokens" "speed of a copy"
# Settings that change a step have no measured speed without a run of their own.
for set in kv.window=16 cpu.pin=false kv.full=slide; do
    try 0 "$accelctl" plan "$work/copy.gguf" --set $set --json
    case $(value speed.0.origin) in "estimated: bytes/s of 1 run of this model with other settings"*) ;; *) fail "$set: $(value speed.0.origin)" ;; esac
done
cp "$f32" "$work/tuned.gguf"
chmod u+w "$work/tuned.gguf"
printf '\001' | dd of="$work/tuned.gguf" bs=1 seek=$(($(wc -c <"$f32") - 4)) conv=notrunc 2>/dev/null
try 0 "$accelctl" plan "$work/tuned.gguf" --json
is "$(value speed.0.origin | cut -c 1-45)" "estimated: bytes/s of 1 run of other models /" "speed of other weights"
# A bandwidth tells something of runs with as many threads, and nothing of a step that caches hold.
for threads in 1 999; do
    printf '{"accel-history":1,"kind":"bandwidth","device":"cpu:cpu0","threads":%s,"bytes_per_1000_s":1000000000000}\n' $threads >"$history"
    try 0 "$accelctl" plan smollm2-135m --set cpu.threads=1 --json
    echo "$threads: $(value speed.0.origin)" >>"$work/origins"
done
try 0 "$accelctl" plan "$f32" --json
is "$(value speed.0.origin)" "no run of this model, or of one of about its size, was measured on this device" "a small model"
grep -q '^1: estimated: bytes/s of 1 measurement / ' "$work/origins" &&
    grep -q '^999: nothing was measured on this device with as many threads; a run measures it$' "$work/origins" || fail "$(cat "$work/origins")"
try 0 "$accelctl" run "$f32" --json -n 8 --prompt Once --prompt "There was"
origins "run of two texts"

# eval, quantize, scores
head -c 600 "$src/README.md" >"$work/text"
try 0 "$accelctl" eval --json --against "$f32" --text "$work/text" --chunk 32 "$q8"
origins eval
for how in "" --sensitivity --dry-run "--budget 260kB"; do
    # shellcheck disable=SC2086 # a list of words
    case $how in
    "") try 0 "$accelctl" quantize --json --type q4_0 "$f32" "$work/out.gguf" ;;
    *) try 0 "$accelctl" quantize --json $how "$f32" "$work/other.gguf" ;;
    esac
    origins "quantize $how"
    case $how in
    --budget*) is "$(value budget)" 260000 "the budget" ;;
    *) is "$(value budget)" null "a budget that nobody gave" ;;
    esac
done
# All others.
for line in "devices --all" plugins doctor "cache list" "cache clear" "cache warm $q8" "plan $f32" "plan $q8 --max-context" \
    "plan $f32 --fit" "plan llama-2-70b --platform cuda --device t4 --advise oom" "snapshot $work/snapshot" \
    "doctor --measure" \
    "plan llama-2-7b --platform cuda --device 2xa100" "plan $f32 --explain batch" version \
    "bench operators --explain" "profile list" "profile show cuda+t4" "profile diff cuda+t4 cuda+a100" "profile settings" \
    "profile facts" "profile env" "profile lint" matrix claims; do
    # shellcheck disable=SC2086 # a list of words
    "$accelctl" $line --json >"$work/out" 2>"$work/err" || [ "${line%% *}" = doctor ] || fail "$line: $(cat "$work/out" "$work/err")"
    origins "$line"
done
echo Once | "$accelctl" chat "$q8" --chat-template chatml -n 5 --json >"$work/out" 2>"$work/err" || fail "chat: $(cat "$work/err")"
origins chat
try 0 "$accelctl" trace "$q8" --in "$src/tests/fixtures/llama-gqa/inputs.safetensors" --out "$work/stages" --json
origins trace
try 0 "$accelctl" scores --json --columns --repeats 1 "$src/tests/fixtures/scores/synthetic.csv"
origins scores
finish
