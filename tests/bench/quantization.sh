#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes the tables of doc/quantization.md again:
#   quantization.sh MODEL CALIB TEXT FOLDER [LLAMA]
# MODEL   a GGUF file of the model; matrices in other types than F16 are widened to F16 first, for all quantizers alike
# CALIB   a text to calibrate with, TEXT another one to measure with
# FOLDER  takes the files, about 20 times those of the model
# LLAMA   the folder of llama-quantize and llama-imatrix, built from llama.cpp's source; without it ours alone
# Variables: ACCELCTL (the command), TOKENS of the text to read (1024), CALIB_TOKENS (16384), GROUP (64),
# METHODS (all), BUDGETS of bytes for files whose types are chosen, as "88MB 72MB".
set -eu
[ $# -ge 4 ] || { sed -n '3,11s/^# //p' "$0" >&2; exit 2; }
model=$1 calib=$2 text=$3 folder=$4 llama=${5:-}
accelctl=${ACCELCTL:-accelctl}
tokens=${TOKENS:-1024} calib_tokens=${CALIB_TOKENS:-16384} group=${GROUP:-64}
methods=${METHODS:-nearest search importance gptq} budgets=${BUDGETS:-}
cmp -s "$calib" "$text" && { echo "$0: the same text to calibrate and to measure with" >&2; exit 2; }
mkdir -p "$folder"
reference=$folder/reference.gguf
[ -e "$reference" ] || "$accelctl" quantize --type f16 "$model" "$reference"
set --

# What a method may see of the calibration.
seen()
{
    case $1 in nearest | search) ;; *) echo "--calib $calib --calib-tokens $calib_tokens" ;; esac
}

# The table of embeddings has 8 bits in each of these, as it has in llama.cpp's files of this model.
for bits in 2 3 4; do
    for method in $methods; do
        out=$folder/q$bits-$method.gguf
        # shellcheck disable=SC2046
        [ -e "$out" ] || "$accelctl" quantize --type q$bits --group "$group" --role embedding=q8_0 --method "$method" \
            $(seen "$method") "$reference" "$out"
        set -- "$@" "$out"
    done
done
for budget in $budgets; do
    out=$folder/budget-$budget.gguf
    # shellcheck disable=SC2046
    [ -e "$out" ] || "$accelctl" quantize --budget "$budget" $(seen gptq) "$reference" "$out"
    set -- "$@" "$out"
done
"$accelctl" eval --text "$text" --tokens "$tokens" --against "$reference" --worst 0 --html "$folder/ours.html" "$@"

[ -n "$llama" ] || exit 0
[ -e "$folder/imatrix" ] || "$llama/llama-imatrix" -m "$reference" -f "$calib" -o "$folder/imatrix" --output-format dat
set --
for type in Q2_K Q3_K_S Q4_0 IQ4_NL Q4_K_M Q8_0; do
    out=$folder/llama-$type.gguf
    [ -e "$out" ] || "$llama/llama-quantize" "$reference" "$out" $type >/dev/null 2>&1
    with=$folder/llama-imatrix-$type.gguf
    [ -e "$with" ] || "$llama/llama-quantize" --imatrix "$folder/imatrix" "$reference" "$with" $type >/dev/null 2>&1
    set -- "$@" "$out" "$with"
done
"$accelctl" eval --text "$text" --tokens "$tokens" --against "$reference" --worst 0 --html "$folder/llama.html" "$@"
