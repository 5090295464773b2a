#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Memory as planned against memory as allocated, through the command, within 2 %: stories260K, SmolLM2-135M where
# ACCEL_REAL_MODELS has it, and a model of 1.1 billion random weights where ACCEL_TEST_LARGE is set; weights in f16, q8
# and q4, two lengths of the context.
. "$ACCEL_TEST_SRCDIR/tests/accelctl/lib.sh"

# compare MODEL CONTEXT NAME
compare()
{
    try 0 "$accelctl" run "$1" --json --greedy --ignore-end -n 8 --set context="$2" --set kv.type.k=f16 \
        --set kv.type.v=f16 --prompt "Once upon a time"
    planned=$(number memory.planned)
    measured=$(number memory.allocated)
    checks=$((checks + 1))
    error=$(awk -v p="$planned" -v m="$measured" 'BEGIN { printf "%.3f", 100 * (m / p - 1) }')
    echo "$3, context $2: planned $planned, measured $measured, $error %"
    [ "$planned" -gt 0 ] && awk -v e="$error" 'BEGIN { exit !(e != "" && e + 0 > -2 && e + 0 < 2) }' || fail "$3, context $2: $error %"
}

# types NAME FILE SHORT LONG: the file in three types, with two lengths of the context
types()
{
    for type in f16 q8_0 q4_0; do
        try 0 "$accelctl" quantize --requantize --pure --type $type "$2" "$work/model.gguf"
        compare "$work/model.gguf" "$3" "$1 $type"
        compare "$work/model.gguf" "$4" "$1 $type"
    done
    rm -f "$work/model.gguf"
}

types stories260K "$f32" 128tok 512tok
# Weights that the driver packs, and options of a driver: to the byte. The pages of the file count as far as they are
# used in place.
for model in "$f32" "$q8"; do
    for more in "" "--set weights.load=read" "--set weights.type=q4 --set weights.group=32"; do
        # shellcheck disable=SC2086 # a list of words
        try 0 "$accelctl" run "$model" --json --greedy --ignore-end -n 8 --set context=128tok --set cpu.layout=panels $more \
            --prompt "Once upon a time"
        is "$(number memory.allocated)" "$(number memory.planned)" "bytes in panels of $model $more"
    done
done
# Types that cpu.layout=auto leaves in rows stay in the file's pages: to the byte, and between both layouts.
in_rows="avx2:q8_0=rows avxvnni:q8_0=rows avx512:q8_0=rows avx512bf16:q8_0=rows amx:q8_0=rows"
try 0 "$accelctl" quantize --pure --type q4_0 --role v=q8_0 --role o=q8_0 "$f32" "$work/mixed.gguf"
for layout in rows auto panels; do
    try 0 "$accelctl" run "$work/mixed.gguf" --json --greedy --ignore-end -n 8 --set context=128tok --device cpu \
        --set cpu.layout=$layout --set "cpu.layout_types=$in_rows" --prompt "Once upon a time"
    is "$(number memory.allocated)" "$(number memory.planned)" "bytes of two types with cpu.layout=$layout"
    eval "bytes_$layout=$(number memory.allocated)"
done
# shellcheck disable=SC2154 # set by eval
echo "two types: $bytes_rows bytes in rows, $bytes_auto with one of them packed, $bytes_panels in panels"
if [ "$bytes_panels" != "$bytes_rows" ]; then
    checks=$((checks + 1))
    [ "$bytes_rows" -lt "$bytes_auto" ] && [ "$bytes_auto" -lt "$bytes_panels" ] || fail "one of two types is packed"
else
    echo "skipped: this processor has no packed weights"
fi
# A value that is not there, or is none, does not pass for one that fits.
for document in '{"memory": {"allocated": 5}}' '{"memory": {"planned": null, "allocated": 5}}' \
    '{"memory": {"planned": "5", "allocated": 5}, "x": 0}'; do
    echo "$document" >"$work/out"
    (number memory.planned) >/dev/null 2>&1
    checks=$((checks + 1))
    case $document in
    *x*) [ ! -e "$work.failed" ] || fail "a number is refused" ;;
    *) [ -e "$work.failed" ] && [ $failed = 0 ] || fail "$document has a planned number" ;;
    esac
    [ $failed != 0 ] || rm -f "$work.failed"
done
real=${ACCEL_REAL_MODELS:-}/SmolLM2-135M-Instruct.Q4_1.gguf
[ -f "$real" ] || real=${ACCEL_REAL_MODELS:-}/smollm2/SmolLM2-135M-Instruct.Q4_1.gguf
if [ -f "$real" ]; then
    types SmolLM2-135M "$real" 512tok 4096tok
    # The pages that weights are packed or converted from are unmapped as this goes: the peak of the process is the plan
    # and what the process itself takes, 13 MiB, and not the file beside its packed copy, which would be 64 MiB more.
    for more in "" "--set weights.type=q4" "--set weights.load=read"; do
        # shellcheck disable=SC2086 # a list of words
        try 0 "$accelctl" run "$real" --json --greedy --no-cache -n 8 --set context=128tok --prompt "Once upon a time" $more
        peak=$(number memory.vm_hwm) planned=$(number memory.planned)
        checks=$((checks + 1))
        echo "SmolLM2-135M $more: planned $planned, peak of the process $peak"
        [ "$peak" -lt $((planned + 28 * 1048576)) ] || fail "the peak is $peak, the plan $planned: $more"
    done
else
    echo "skipped: SmolLM2-135M is not in ACCEL_REAL_MODELS"
fi
make_model=$ACCEL_TEST_BUILDDIR/tests/bench/make_model
if [ -n "${ACCEL_TEST_LARGE:-}" ] && [ -x "$make_model" ]; then
    for type in f16 q8_0 q4_0; do
        try 0 "$make_model" "$work/model.gguf" $type
        compare "$work/model.gguf" 512tok "1.1B $type"
        compare "$work/model.gguf" 2048tok "1.1B $type"
        rm -f "$work/model.gguf"
    done
else
    echo "skipped: the model of 1.1 billion weights, since ACCEL_TEST_LARGE is not set or make_model was not made"
fi
finish
