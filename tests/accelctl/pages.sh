#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Man pages and completions are those that the tables of the command make; every option of --help is in them; they are
# sound for the programs that read them, where those are installed.
. "$ACCEL_TEST_SRCDIR/tests/accelctl/lib.sh"

mkdir -p "$work/doc/completion"
try 0 "$ACCEL_TEST_BUILDDIR/doc/pages" "$work/doc" "$src/profiles"
(cd "$work/doc" && find . -type f) | sed 's,^\./,,' >"$work/files"
while read -r file; do
    checks=$((checks + 1))
    cmp "$work/doc/$file" "$src/doc/$file" || fail "doc/$file is old: make pages writes it anew"
done <"$work/files"
for file in "$src"/doc/*.[15]; do
    grep -qx "$(basename "$file")" "$work/files" || fail "$file is the page of nothing"
done

# What is not filled, as examples are, fits a terminal of 80 columns with the indentation of the page.
for file in "$src"/doc/*.[15]; do
    awk '/^\.nf$/ { on = 1 } /^\.fi$/ { on = 0 } on && length($0) > 72 { print; bad = 1 } END { exit bad }' "$file" ||
        fail "$(basename "$file") has lines that are too long for 80 columns"
done

for command in $(commands); do
    try 0 "$accelctl" help $command
    options=$(sed -n 's/^ \{2,6\}\(-[a-z], \)*--\([a-z-]*\).*/\2/p' "$work/out")
    [ -n "$options" ] || fail "$command has no options"
    for option in $options; do
        checks=$((checks + 1))
        sed 's/\\-/-/g' "$src/doc/accelctl-$command.1" | grep -q -- "--$option" || fail "accelctl-$command.1 has no --$option"
        grep -A1 "^ *$command) " "$src/doc/completion/accelctl" | grep -q -- "--$option " || [ $option = help ] ||
            fail "the completion for bash has no $command --$option"
        grep -q -- "--$option" "$src/doc/completion/_accelctl" || fail "the completion for zsh has no --$option"
    done
    grep -q "accelctl.-$command" "$src/doc/accelctl.1" || fail "accelctl.1 does not name $command"
done

if command -v groff >/dev/null; then
    for page in "$src"/doc/*.[15]; do
        warnings=$(groff -man -ww -z -Tutf8 "$page" 2>&1)
        [ -z "$warnings" ] || fail "$page: $warnings"
    done
else
    echo "skipped: groff is not here to check the man pages"
fi
if command -v zsh >/dev/null; then
    zsh -n "$src/doc/completion/_accelctl" || fail "the completion for zsh"
else
    echo "skipped: zsh is not here to check its completion"
fi
# What bash offers.
offer()
{
    bash -c '. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _accelctl; printf "%s " "${COMPREPLY[@]}"' \
        "$src/doc/completion/accelctl" "$@"
}
if command -v bash >/dev/null; then
    is "$(offer accelctl pl)" "plugins plan " "commands that bash offers"
    is "$(offer accelctl run --gr)" "--greedy " "options that bash offers"
    is "$(offer accelctl run "${q8%.gguf}")" "$q8 " "files that bash offers"
    is "$(offer accelctl run --temperature 0)" " " "nothing that bash offers for a number"
    is "$(offer accelctl profile se)" "settings " "actions that bash offers"
    is "$(offer accelctl plan --set kv.type.)" "kv.type.k= kv.type.v= " "settings that bash offers"
    is "$(offer accelctl plan --set device.m)" "device.memory= " "facts of absent devices that bash offers"
    is "$(offer accelctl plan --set kv.type.k = q)" "q8 q4 " "words of a setting that bash offers"
    is "$(offer accelctl plan --set kv.prune =)" "off recency usage " "words that bash offers behind ="
    is "$(offer accelctl quantize a b Q4_K_)" "Q4_K_M Q4_K_S " "types in capitals that bash offers"
    is "$(offer accelctl quantize --type q5_k_)" "q5_k_m q5_k_s " "types as an option"
    is "$(offer accelctl profile list m)" "models " "layers that bash offers"
    (cd "$work" && is "$(offer accelctl bench pre)" "prefill " "subjects that bash offers")
    "$accelctl" bench nonsense 2>&1 | sed -n 's/.*subjects are \(.*\)/\1/p' | tr -d , | tr ' ' '\n' | sort >"$work/subjects"
    [ -s "$work/subjects" ] || fail "the error of an unknown subject lists none"
    (cd "$work" && offer accelctl bench "") | tr ' ' '\n' | sort >"$work/offered"
    is "$(comm -23 "$work/subjects" "$work/offered")" "" "subjects that bash does not offer"
    is "$(offer accelctl profile settings weights.l)" "weights.least weights.load " "settings as arguments"
    is "$(offer accelctl profile facts device.m)" "device.memory device.memory.large " "facts that bash offers"
    is "$(offer accelctl quantize -t iq)" "iq4_nl iq4_xs " "types that bash offers"
    is "$(offer accelctl quantize --type q6)" "q6_k " "types behind --type"
    is "$(offer accelctl plan m --emit '')" "llama-server vllm " "programs that bash offers"
    is "$(offer accelctl claims --verdict r)" "rejected " "verdicts that bash offers"
    is "$(offer accelctl matrix --format h)" "html " "formats that bash offers"
    # What lies in files of profiles is offered whole.
    is "$(offer accelctl plan m --advise '')" "$(sed -n 's/^  - name: //p' "$src/profiles/advice.yaml" | tr '\n' ' ')" topics
    is "$(offer accelctl claims --subject '')" \
        "$(sed -n 's/^    subject: //p' "$src/profiles/claims.yaml" | LC_ALL=C sort -u | tr '\n' ' ')" subjects
    is "$(offer accelctl matrix --table '')" "$("$accelctl" matrix --json --profiles "$src/profiles" |
        sed -n 's/^ *"table": "\(.*\)",$/\1/p' | sort -u | tr '\n' ' ')" tables
    PATH=$ACCEL_TEST_BUILDDIR:$PATH
    ACCEL_PROFILE_PATH=$src/profiles
    export ACCEL_PROFILE_PATH
    is "$(offer accelctl run --device cpu:cpu0,cp)" "cpu:cpu0,cpu:cpu0 cpu:cpu0,cpu cpu:cpu0,cpu0 " "devices in a list"
    is "$(offer accelctl profile show webg)" "webgpu " "profiles that bash offers"
    is "$(offer accelctl plan m --device t)" "t4 " "devices that bash offers"
    is "$(offer accelctl profile diff webgpu+saf)" "webgpu+safari " "profiles behind + that bash offers"
fi
finish
