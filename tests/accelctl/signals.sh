#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# An interrupt ends a run with its numbers and status 130; a model file that shrinks while it is mapped ends it with
# status 3 and the file's name; one that is read does not mind.
. "$ACCEL_TEST_SRCDIR/tests/accelctl/lib.sh"

# The model with a context that takes minutes to fill.
copy_model()
{
    rm -rf "$work/model"
    cp -r "$models/hf" "$work/model" && chmod -R u+w "$work/model"
    sed -i 's/"max_position_embeddings": *[0-9]*/"max_position_embeddings": 200000/' "$work/model/config.json"
}

# begin OPTION...: a long run in the background.
begin()
{
    copy_model
    : >"$work/out"
    "$accelctl" run "$work/model" --set context=200000tok --ignore-end "$@" >"$work/out" 2>"$work/err" </dev/null &
    pid=$!
}

for signal in INT TERM; do
    begin
    wait_until $pid has_bytes "$work/out" 100
    kill -$signal $pid
    wait $pid
    is $? 130 "status of a run after SIG$signal"
    grep -q '^generated .*ended by: interrupted' "$work/err" || { cat "$work/err"; fail "no numbers after SIG$signal"; }
    [ "$(wc -c <"$work/out")" -gt 99 ] || fail "no text before SIG$signal"
done
# An interrupt before the work has begun, or while a pipe without a writer is opened, ends the command as well.
mkfifo "$work/pipe"
# waits ARGUMENT...: interrupts a command that waits for the pipe, with the document or the line of the error.
waits()
{
    for signal in INT TERM; do
        : >"$work/out"
        env --default-signal=INT "$accelctl" "$@" >"$work/out" 2>"$work/err" </dev/null &
        pid=$!
        await_handler
        sleep 0.3
        kill -$signal $pid
        wait $pid
        is $? 130 "status after SIG$signal while a pipe is opened: $*"
        case " $* " in
        *" --json "*)
            "$json" "$work/out" accelctl/error/1 || { cat "$work/out" "$work/err"; fail "no document: $*"; }
            is "$(value error.code) $(value error.origin) $(value error.exit)" "ACCEL_E_CANCELLED caller 130" \
                "the document of an interrupt: $*"
            ;;
        *) grep -Eq '(interrupted|cancelled while the model was loaded).*\(ACCEL_E_CANCELLED\)' "$work/err" || { cat "$work/err"; fail "no error: $*"; } ;;
        esac
    done
}
waits run --file "$work/pipe" --json "$f32"
waits run --file "$work/pipe" "$f32"
waits run --chat --chat-template "$work/pipe" --prompt Once --json "$f32"
waits chat --chat-template "$work/pipe" --json "$f32"
waits chat --resume "$work/pipe" --chat-template chatml "$f32"
waits eval --text "$work/pipe" --json "$f32"
waits quantize --calib "$work/pipe" --json "$f32" "$work/none.gguf"
# The first answer shows that the next line is being read.
printf 'Once\n/load %s\nOnce\n' "$work/pipe" >"$work/in"
: >"$work/out"
env --default-signal=INT "$accelctl" chat --chat-template chatml --json "$f32" <"$work/in" >"$work/out" 2>"$work/err" &
pid=$!
wait_until $pid has_bytes "$work/out" 1
sleep 0.5
kill -INT $pid
wait $pid
is $? 130 "status after an interrupt in /load"
lines=$(wc -l <"$work/out" | tr -d ' ')
tail -n 1 "$work/out" >"$work/line" && mv "$work/line" "$work/out"
is "$lines $(value error.code)" "2 ACCEL_E_CANCELLED" "the line of an interrupt in /load"

# A second signal ends the run at once, with an error.
begin --json
await_handler
kill -INT $pid
kill -TERM $pid
wait $pid
status=$?
[ $status = 130 ] || [ $status = 143 ] || fail "status $status after two signals"
"$json" "$work/out" - || { cat "$work/out"; fail "the document after two signals"; }

# With --json nothing shows when the text has begun: the run may still load, which an interrupt ends as well, with an
# error. Then the next one is left more time.
for pause in 0 0.2 0.5 1 2 5 10 20; do
    begin --json
    await_handler
    sleep $pause
    kill -INT $pid
    wait $pid
    is $? 130 "status of an interrupted run with --json"
    "$json" "$work/out" - || fail "the document of an interrupted run"
    [ "$(value schema)" = accelctl/error/1 ] || break
    is "$(value error.code)" ACCEL_E_CANCELLED "the error of a run that is interrupted while it loads"
done
is "$(value schema)" accelctl/run/1 "document of an interrupted run"
is "$(value stop)" interrupted "why it stopped"

# A trace, too, which leaves no file then. The first bytes are the length of the header.
header='{"long.input_ids":{"dtype":"I64","shape":[1,20000],"data_offsets":[0,160000]}}'
{
    printf '\116\0\0\0\0\0\0\0%s' "$header"
    head -c 160000 /dev/zero
} >"$work/ids.safetensors"
"$accelctl" trace "$work/model" --set context=200000tok --stepwise --json -i "$work/ids.safetensors" -o "$work/stages" \
    >"$work/out" 2>"$work/err" </dev/null &
pid=$!
await_handler
kill -INT $pid
wait $pid
is $? 130 "status of an interrupted trace"
"$json" "$work/out" accelctl/error/1 || { cat "$work/out" "$work/err"; fail "the document of an interrupted trace"; }
is "$(value error.code)" ACCEL_E_CANCELLED "the error of an interrupted trace"
[ -e "$work/stages" ] && fail "an interrupted trace wrote a file"

begin
wait_until $pid has_bytes "$work/out" 100
: >"$work/model/model.safetensors"
wait $pid
is $? 3 "status after the file shrank"
grep -q "^accelctl: $work/model/model.safetensors: the file shrank" "$work/err" ||
    { cat "$work/err"; fail "the file that shrank is not named"; }

# What is written over weights in use may be any text's: the run ends and says so. A new file of the old one's name is fine.
begin
wait_until $pid has_bytes "$work/out" 100
dd if=/dev/zero of="$work/model/model.safetensors" bs=4096 seek=40 count=1 conv=notrunc 2>"$work/dd"
wait $pid
is $? 3 "status after the file was written to"
grep -q "^accelctl: $work/model/model.safetensors: the file was written to" "$work/err" ||
    { cat "$work/err"; fail "the file that was written to is not named"; }

# In JSON, whether the step in which it shrank touches what is gone or not.
begin --json
await_handler
sleep 0.5
: >"$work/model/model.safetensors"
wait $pid
is $? 3 "status after the file shrank, with --json"
"$json" "$work/out" accelctl/error/1 || { cat "$work/out" "$work/err"; fail "no document after the file shrank"; }
case $(value error.code) in ACCEL_E_IO | ACCEL_E_CORRUPT) ;; *) fail "the error of a file that shrank" ;; esac
is "$(value error.exit)" 3 "its status"
is "$(cat "$work/err")" "" "the error output beside a document"

# Each file that a command has open is guarded, not the first alone: here that which reads a text to calibrate with. A
# pipe can be opened when that file is mapped.
cp "$f32" "$work/shrinks.gguf"
chmod u+w "$work/shrinks.gguf"
mkfifo "$work/text"
"$accelctl" quantize --calib "$work/text" "$work/shrinks.gguf" "$work/none.gguf" >"$work/out" 2>"$work/err" &
pid=$!
{
    : >"$work/shrinks.gguf"
    echo "Once upon a time there was a dog and a cat, and they went to the park to play with a big red ball all day."
} >"$work/text"
wait $pid
is $? 3 "status after the file of a calibration shrank"
grep -q "^accelctl: $work/shrinks.gguf: the file shrank" "$work/err" ||
    { cat "$work/err"; fail "the file of a calibration that shrank is not named"; }

begin --set weights.load=read -n 3000
wait_until $pid has_bytes "$work/out" 100
: >"$work/model/model.safetensors"
wait $pid
status=$?
[ $status = 0 ] || cat "$work/err"
is $status 0 "status with weights that were read"
grep -q '^generated *3000 tokens' "$work/err" || fail "a run with weights that were read did not go on"
finish
