#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Several prompts of one run: each text is the one that its prompt writes alone, whether all fit a step or wait.
. "$ACCEL_TEST_SRCDIR/tests/accelctl/lib.sh"

first="Once upon a time"
second="Lily and her dog went to the park. They saw a big"
third="Tom"

# shellcheck disable=SC2086
{
    : >"$work/alone"
    for prompt in "$first" "$second" "$third"; do
        try 0 "$accelctl" run "$f32" $exact -g -n 40 -q -p "$prompt" --ignore-end
        cat "$work/out" >>"$work/alone"
    done
    try 0 "$accelctl" run "$f32" $exact -g -n 40 -q --ignore-end -p "$first" -p "$second" -p "$third"
    is "$(cat "$work/out")" "$(cat "$work/alone")" "texts of --prompt three times"
    try 0 "$accelctl" run "$f32" $exact -g -n 40 -q --ignore-end -p "$first" -p "$second" -p "$third" \
        --set sequences=2 --set batch=5tok
    is "$(cat "$work/out")" "$(cat "$work/alone")" "texts of two sequences, prompts in pieces"
    printf '%s\n\n{"prompt": "%s"}\n"%s"\n' "$first" "$second" "$third" >"$work/prompts"
    try 0 "$accelctl" run "$f32" $exact -g -n 40 -q --ignore-end --prompts "$work/prompts"
    is "$(cat "$work/out")" "$(cat "$work/alone")" "texts of --prompts"
    try 0 "$accelctl" run "$f32" $exact -g -n 40 --ignore-end --prompts "$work/prompts" --json
    "$json" "$work/out" accelctl/run-texts/1 || fail "--json"
    is "$(value texts.1.prompt)" "$second" "the second prompt"
    is "$(value texts.2.tokens)" 40 "tokens of the third text"
    is "$(value time.sequences)" 3 "sequences"
    is "$(value placement.device) $(value placement.fallbacks)" "cpu:cpu0 0" "where the texts were written"
    # Sampled texts have the seeds N, N+1 and so on, with which each prompt writes its text alone.
    seed=18446744073709551614 # N+2 is 0
    try 0 "$accelctl" run "$f32" $exact -s $seed -n 40 --ignore-end --prompts "$work/prompts" --json
    cp "$work/out" "$work/drawn"
    is "$("$json" "$work/drawn" - sampling.seed)" $seed "the seed"
    text=0
    for prompt in "$first" "$second" "$third"; do
        seed=$("$json" "$work/drawn" - texts.$text.seed)
        "$json" "$work/drawn" - texts.$text.text >"$work/text"
        try 0 "$accelctl" run "$f32" $exact -s "$seed" -n 40 -q --ignore-end -p "$prompt"
        is "$(cat "$work/out")" "$(cat "$work/text")" "text of seed $seed alone"
        text=$((text + 1))
    done
    is "$seed" 0 "the seed of the third prompt"
    try 0 "$accelctl" run "$f32" -s 7 -n 4 -p "$first" -p "$first"
    grep -q '^seeds      7 to 8, one for each prompt in their order$' "$work/err" || fail "no seeds: $(cat "$work/err")"
    try 0 "$accelctl" run "$f32" $exact -g -n 4 --prompts "$work/prompts"
    grep -q '^placement .* 0 fallbacks$' "$work/err" || fail "no placement after several texts: $(cat "$work/err")"
}

# A prompt that does not fit is wrong usage, as it is alone.
try 2 "$accelctl" run "$f32" -g -n 4 -p "$first" -p "$second" --set context=8
one_error "text 2: 18 tokens do not fit: the context of 8 tokens holds 0 so far"
grep -qx "  remedy: set a longer context (--set context=512 at most), or use a shorter text" "$work/err" ||
    { cat "$work/err"; fail "a long prompt of several: no remedy, or kv.full=slide, which 8 tokens do not permit"; }
try 2 "$accelctl" run "$f32" -g -n 4 -p "$first $first $first $first $first $first" --set context=20
grep -qF "(--set context=512 at most) or --set kv.full=slide, or use a shorter text" "$work/err" ||
    { cat "$work/err"; fail "kv.full=slide is not offered"; }
try 0 "$accelctl" run "$f32" -g -n 4 -q -p "$first $first $first $first $first $first" --set context=20 --set kv.full=slide

# A time has digits, however short it is.
try 0 "$accelctl" run "$q8" -g -n 2 -p "$first" -p "$second"
grep -qE "^generated  2 texts, 4 tokens in [0-9.]*[1-9][0-9.]* m?s(, [0-9.]+ tokens/s)?, prompts of " "$work/err" || { cat "$work/err"; fail "no time of texts"; }

# They are printed as they come: the first one while it is generated, in pipes too, and an interrupt leaves what there is.
: >"$work/live" # the loop may read it before the command has opened it
"$accelctl" run "$f32" -g --ignore-end -p "$first" -p "$third" --set kv.full=slide >"$work/live" 2>"$work/err" </dev/null &
pid=$!
wait_until $pid has_bytes "$work/live" 200
kill -INT $pid
wait $pid
is $? 130 "status of texts that are interrupted"
[ "$(grep -c '^==> ' "$work/live")" = 2 ] && [ "$(wc -c <"$work/live")" -ge 200 ] || fail "texts do not come as they are generated"
# As lines of JSON: one for each token, one for the end of each text behind its last token, one with the numbers.
try 0 "$accelctl" run "$f32" $exact -g -n 40 --ignore-end --prompts "$work/prompts" --set sequences=2 --json-lines
cp "$work/out" "$work/lines"
is "$(wc -l <"$work/lines" | tr -d ' ')" 124 "lines of three texts of 40 tokens"
for text in 0 1 2; do
    grep "\"text\":$text,\"id\"" "$work/lines" | while read -r line; do
        printf '%s\n' "$line" >"$work/out"
        value piece
    done | tr -d '\n' >"$work/pieces.$text"
done
is "$(cat "$work/pieces.0" "$work/pieces.1" "$work/pieces.2")" "$(tr -d '\n' <"$work/alone")" "pieces of the texts"
for text in 0 1 2; do
    grep "\"text\":$text," "$work/lines" | tail -n 1 >"$work/out"
    is "$(value stop) $(number tokens) $(value schema)" "length 40 accelctl/run-lines/1" "the end of text $text"
done
tail -n 1 "$work/lines" >"$work/out"
is "$(number time.tokens)" 120 "tokens in the last line"
try 0 "$accelctl" run "$f32" $exact -g -n 3 -p "$first" --json-lines
is "$(wc -l <"$work/out" | tr -d ' ')" 5 "lines of one text"

# A piped standard input is the prompt where no option gives one, without the end of its line; /dev/null is none.
try 0 "$accelctl" run "$f32" $exact -g -n 12 -q --ignore-end -p "$first"
cp "$work/out" "$work/one"
echo "$first" | "$accelctl" run "$f32" $exact -g -n 12 -q --ignore-end >"$work/out" 2>"$work/err" || fail "a prompt in a pipe"
cmp "$work/one" "$work/out" || fail "the text of a prompt in a pipe"
echo "$third" | "$accelctl" run "$f32" $exact -g -n 12 -q --ignore-end -p "$first" >"$work/out" 2>"$work/err"
cmp "$work/one" "$work/out" || fail "a prompt of the command line beside a pipe"
try 0 "$accelctl" run "$f32" $exact -g -n 12 -q --chat --chat-template chatml -p "$first"
cp "$work/out" "$work/one"
echo "$first" | "$accelctl" run "$f32" $exact -g -n 12 -q --chat --chat-template chatml >"$work/out" 2>"$work/err"
cmp "$work/one" "$work/out" || fail "a message in a pipe"
: | "$accelctl" run "$f32" --chat --chat-template chatml >"$work/out" 2>"$work/err" && fail "a chat without a message"
one_error "the standard input has no message"
try 2 "$accelctl" run "$f32" --chat
one_error "accelctl chat MODEL is interactive"

# Longer than the caches: the oldest tokens leave, and the text goes on.
try 0 "$accelctl" run "$f32" -g -n 100 -q --ignore-end -p "$first" --set context=48tok --json
is "$(value stop)" "context full" "the end of a context"
try 0 "$accelctl" run "$f32" -g -n 100 -q --ignore-end -p "$first" --set context=48tok --set kv.full=slide --json
is "$(value stop)" "length" "a context that slides"
is "$(value time.tokens)" 100 "its tokens"

# Refused by name.
printf 'one\ntwo\ncaf\351\n' >"$work/latin"
for option in --prompt-file --prompts; do
    try 3 "$accelctl" run "$f32" $option "$work/latin"
    one_error "latin:3: text is not UTF-8 at byte 11 (0xe9)"
done
try 2 "$accelctl" run "$f32" -p a --prompts "$work/prompts"
printf '{"text": 1}\n' >"$work/wrong"
"$accelctl" run "$f32" --prompts "$work/wrong" >"$work/out" 2>"$work/err" && fail "JSON without a prompt"
grep -q "wrong:1:" "$work/err" || fail "the line of the wrong prompt"
for wrong in '"a\u0000b":no prompt has the character \u0000' '"\ud800":invalid Unicode' '{"prompt":expected near'; do
    printf '%s\n' "${wrong%:*}" >"$work/wrong"
    try 3 "$accelctl" run "$f32" --prompts "$work/wrong"
    one_error "wrong:1: begins like JSON and cannot be read: "
    grep -qF "${wrong##*:}" "$work/err" || { cat "$work/err"; fail "why ${wrong%:*} is no prompt"; }
done
printf '{"prompt": "a"}\n\n{"prompt": "b", "seed": 3}\n' >"$work/wrong"
try 3 "$accelctl" run "$f32" --prompts "$work/wrong"
one_error "wrong:3: the key \"seed\" is unknown; a prompt has \"prompt\" alone"

finish
