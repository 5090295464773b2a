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
    try 0 "$accelctl" run "$f32" $exact -g -n 4 --prompts "$work/prompts"
    grep -q '^placement .* 0 fallbacks$' "$work/err" || fail "no placement after several texts: $(cat "$work/err")"
}

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

finish
