#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# accelctl claims --measure: claims that commands test here, on the small model. What is exact (bytes, errors, gains on a
# table) is checked as a number, what depends on the machine (speed, start) as being there. tests/accelctl/tables.sh has the ledger.
. "$ACCEL_TEST_SRCDIR/tests/accelctl/lib.sh"
TMPDIR=$work/tmp
export TMPDIR
mkdir "$TMPDIR"

# row ID MEMBER: of the claim in the document
row()
{
    number=0
    while [ $number -lt "$(value claims.#)" ]; do
        [ "$(value claims.$number.id)" != "$1" ] || { value "claims.$number.$2"; return; }
        number=$((number + 1))
    done
    fail "no claim $1" >&2
}

# verdict ID WANTED NUMBER: judged so, and measured as NUMBER up to one hundredth
verdict()
{
    is "$(row "$1" verdict)" "$2" "verdict of $1"
    row "$1" measured | awk -v n="$3" '{ exit !($1 - n < 0.01 && n - $1 < 0.01) }' || fail "$1: $(row "$1" measured), not $3"
}

# Sizes: groups of 64 where rows have 64 values, so (2 + 16 / 64) / 16 of f16, and so on.
try 0 "$accelctl" claims --measure "$f32" --subject weights --json
"$json" "$work/out" accelctl/claims-measured/1 || fail "the schema"
"$json" "$work/out" --origins || fail "numbers without origins"
verdict Z1.a measured 85.9375
verdict Z2.a measured 79.6875
verdict Z2.c rejected 23.5294
verdict Z3.a measured 73.4375
verdict Z3.b measured 86.71875
is "$(row Z3.d verdict)" rejected "verdict of Z3.d"
row Z1.a origin.measured | grep -q '^measured: accelctl quantize .*f16.gguf q2.gguf$' || fail "no command"
value note | grep -q "256 MiB" || fail "no note on a small model"

# The error of weights by the command is that of the encoder; a claim in words is not judged.
head -c 600 "$src/README.md" >"$work/text"
try 0 "$accelctl" claims --measure "$f32" --subject quality --text "$work/text" --json
is "$(row Z2.b verdict)" claimed "verdict of a claim in words"
row Z2.b measured | awk '{ exit !($1 > 0.15 && $1 < 0.25) }' || fail "error of 3 bits: $(row Z2.b measured)"
two=$(row Z1.b measured)
four=$(row Z4.a measured)
awk -v two="$two" -v four="$four" 'BEGIN { exit !(two > four && four > 0) }' || fail "2 bits lose $two %, 4 bits $four %"
is "$(row Z4.a measured)" "$(row Z4.b measured)" "two claims on one number"

# On a terminal the line of progress is erased before a result is printed.
if command -v script >/dev/null; then
    checks=$((checks + 1))
    script -qec "'$accelctl' claims --measure '$f32' --subject weights" /dev/null >"$work/out" 2>&1 </dev/null
    grep -qF "measuring" "$work/out" || fail "no progress on a terminal"
    for words in "Z1.a" "agree, "; do
        has "$words"
        grep -F "$words" "$work/out" | tr '\r' '\n' | grep -F "$words" | grep -qF "measuring" &&
            fail "progress and '$words' share a line"
    done
else
    echo "skipped: script is not here to print to a terminal"
fi

# What cannot be measured has a reason and no number: heads of 8 values, a text and a table that are not given.
try 0 "$accelctl" claims --measure "$f32" --subject kv --json
is "$(row Z6.a measured)" null "a cache that this model cannot have"
row Z6.a reason | grep -q "heads of 8 elements" || fail "no reason"
try 0 "$accelctl" claims --measure "$f32" --subject quality
has "requires --text FILE"
try 0 "$accelctl" claims --measure "$f32" --subject accuracy
has "requires --scores FILE.csv"

# Gains on a table are those of accelctl scores.
table=$src/tests/fixtures/scores/synthetic.csv
try 0 "$accelctl" scores --json "$table"
before=$(value gains.0.sample.before)
gain=$(value gains.0.sample.gain)
try 0 "$accelctl" claims --measure "$f32" --subject accuracy --scores "$table" --json
verdict Z21.a "$(row Z21.a verdict)" "$(awk -v g="$gain" -v b="$before" 'BEGIN { printf "%.6f", 100 * g / b }')"

# Batches are measured; every measurement that the table names is one.
try 0 "$accelctl" claims --measure "$f32" --subject batch --json
row Z20.f measured | awk '{ exit !($1 > 0) }' || fail "no speed of a batch"
sed -n 's/^    measure: //p' "$src/profiles/claims.yaml" | sed 's/\..*//' | sort -u >"$work/kinds"
is "$(tr '\n' ' ' <"$work/kinds")" "accuracy batch error kv load scores size speed start " "measurements of the table"
cp -R "$src/profiles" "$work/profiles" && chmod -R u+w "$work/profiles"
for wrong in batsh.4 batch.5 batch batch.4.f16 size.q4 size.q4.f16.f32 start.kept; do
    sed "s/measure: batch.4/measure: $wrong/" "$src/profiles/claims.yaml" >"$work/profiles/claims.yaml"
    try 3 "$accelctl" claims --measure "$f32" --subject batch --profiles "$work/profiles"
    one_error "there is no measurement \"$wrong\""
done
# No claim is as wanted: the same answer with a measurement and without.
for more in "" "--measure $f32"; do
    # shellcheck disable=SC2086
    try 2 "$accelctl" claims --subject audio --verdict estimated $more
    one_error "no claim has that verdict and subject"
done

try 2 "$accelctl" claims --text "$work/text"
one_error "claims: --text, --scores and --device require --measure"
try 2 "$accelctl" claims --measure "$f32" --format html
one_error "--measure prints text"
try 3 "$accelctl" claims --measure "$work/none.gguf"
one_error "none.gguf: No such file"
try 3 "$accelctl" claims --measure "$work/text"
one_error "neither GGUF nor safetensors"

# An interrupt ends the command that runs, and nothing stays.
is "$(ls "$TMPDIR")" "" "versions of the model that are left"
"$accelctl" claims --measure "$f32" >"$work/out" 2>"$work/err" &
child=$!
# The command handles the signal once it has begun to write the first version.
has_version()
{
    [ -n "$(find "$TMPDIR" -name 'f16*')" ]
}
wait_until $child has_version
kill -TERM $child
wait $child
is $? 130 "exit status after an interrupt"
one_error "interrupted while claims were measured"
is "$(ls "$TMPDIR")" "" "versions of the model that are left by an interrupt"
finish
