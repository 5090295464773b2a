#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Greedy text through the command, token for token: stories260K in both formats; SmolLM2 where ACCEL_REAL_MODELS has it.
. "$ACCEL_TEST_SRCDIR/tests/accelctl/lib.sh"

# golden MODEL FILE RUN COUNT [OPTION...]: ids of the continuation, and the text until the model ends it.
golden()
{
    model=$1
    file=$2
    index=$3
    count=$4
    shift 4
    # A dot at its end keeps the new lines of a prompt.
    prompt=$("$json" "$file" - "runs.$index.prompt"; echo .)
    prompt=${prompt%.}
    # shellcheck disable=SC2086
    try 0 "$accelctl" run "$model" --greedy --json -n "$count" --ignore-end $exact --prompt "$prompt" "$@"
    is "$(value ids)" "$("$json" "$file" - "runs.$index.ids")" "ids of run $index of $model"
    # shellcheck disable=SC2086
    try 0 "$accelctl" run "$model" --greedy -q -n "$count" $exact --prompt "$prompt" "$@"
    is "$(cat "$work/out")" "$("$json" "$file" - "runs.$index.text")" "text of run $index of $model"
}

file=$src/tests/fixtures/stories260K/greedy.json
runs=$("$json" "$file" - "runs.#") || exit 99
for model in "$f32" "$models/hf"; do
    index=0
    while [ $index -lt "$runs" ]; do
        golden "$model" "$file" $index 200
        index=$((index + 1))
    done
done

real=${ACCEL_REAL_MODELS:-}/SmolLM2-135M-Instruct.Q4_1.gguf
[ -f "$real" ] || real=${ACCEL_REAL_MODELS:-}/smollm2/SmolLM2-135M-Instruct.Q4_1.gguf
file=${ACCEL_SHARED_FIXTURES:-}/real/smollm2.json
if [ -f "$real" ] && [ -f "$file" ]; then
    for index in 0 1 2 3; do golden "$real" "$file" $index 64; done
    # The template of the model itself makes the same prompt of a message.
    # shellcheck disable=SC2086
    try 0 "$accelctl" run "$real" --greedy --json -n 64 --ignore-end $exact --chat \
        --prompt "What is the capital of Japan? Answer in one sentence."
    is "$(value ids)" "$("$json" "$file" - runs.2.ids)" "ids of a chat"
    is "$(value time.prompt_tokens)" "$("$json" "$file" - runs.2.prompt_ids.#)" "tokens of the prompt of a chat"
else
    echo "skipped: SmolLM2-135M is not in ACCEL_REAL_MODELS, or its text is not here"
fi
finish
