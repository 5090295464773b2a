#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Files of measure.folder: a full disk ends every command that runs steps, a file has one writer, and a folder in which
# no file can be is wrong usage.
. "$ACCEL_TEST_SRCDIR/tests/accelctl/lib.sh"
cd "$work" || exit 99

# A disk that is full, here by the limit of files.
i=0
while [ $((i += 1)) -le 60 ]; do
    echo "Once upon a time there was a dog."
done >words
for command in "eval --text words" "bench -p 64 -n 64 --rounds 1" "run -q -n 64 --ignore-end -p Once" \
    "run -q -n 64 --ignore-end -p Once -p Twice --set sequences=2"; do
    # shellcheck disable=SC2016,SC2086 # the inner shell expands; words of the command
    try 1 sh -c 'ulimit -f 1; exec "$@"' sh "$accelctl" $command "$f32" --no-cache --set output.attention=true \
        --set measure.folder="$work/full"
    one_error "attention.jsonl: cannot write: "
    [ ! -s full/attention.jsonl ] || tail -n 1 full/attention.jsonl | grep -q "]}\$" || fail "the file ends within a line: $command"
done
folder=$src/tests/fixtures/llama-gqa
# shellcheck disable=SC2016 # the inner shell expands
try 1 sh -c 'ulimit -f 1; exec "$@"' sh "$accelctl" trace "$folder" --in "$folder/inputs.safetensors" --out stages \
    --stepwise --no-cache --set output.attention=true --set measure.folder="$work/full"
one_error "attention.jsonl: cannot write: "
# A file has one writer.
mkfifo "$work/lines"
"$accelctl" chat "$f32" -q --chat-template chatml --set trace.steps=true --set measure.folder="$work/locked" \
    <"$work/lines" >"$work/chat" 2>&1 &
chat=$!
exec 9>"$work/lines"
wait_until $chat test -e "$work/locked/steps.jsonl"
try 1 "$accelctl" run "$f32" -n 1 -p Once --set trace.steps=true --set measure.folder="$work/locked"
one_error "command line --set measure.folder=$work/locked: measure.folder: another run writes $work/locked/steps.jsonl"
exec 9>&-
wait $chat || fail "the run that had the folder: $(cat "$work/chat")"
try 0 "$accelctl" run "$f32" -n 1 -p Once --set trace.steps=true --set measure.folder="$work/locked"
# A folder in which no file can be is wrong usage.
try 2 "$accelctl" run "$f32" -n 1 -p Once --set trace.steps=true --set measure.folder=
one_error "command line --set measure.folder=: measure.folder is empty"
try 2 "$accelctl" run "$f32" -n 1 -p Once --set trace.steps=true --set measure.folder="$(printf '/%04999d' 0)"
one_error "measure.folder has 5000 bytes, and at most 4079 are possible"
finish
