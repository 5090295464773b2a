#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A driver that misbehaves in a run: the command ends with its name and the slot, not with silence.
. "$ACCEL_TEST_SRCDIR/tests/accelctl/lib.sh"

MOCK_UNDER=$ACCEL_TEST_BUILDDIR/plugins/cpu/.libs/cpu.so
export MOCK_UNDER
mkdir "$work/drivers"
chmod 755 "$work" "$work/drivers"
cp "$ACCEL_TEST_BUILDDIR/tests/mock/.libs/hostile.so" "$work/drivers/second.so"
hostile="run $q8 --drivers $work/drivers --device second --greedy -q -n 5"
# shellcheck disable=SC2086 # words
try 0 "$accelctl" $hostile
text=$(cat "$work/out")
[ -n "$text" ] || fail "no text of the driver beneath"

# ended HOW STATUS WORDS: a run in which the driver does that
ended()
{
    MOCK_HOSTILE=$1
    export MOCK_HOSTILE
    # shellcheck disable=SC2086 # words
    try "$2" "$accelctl" $hostile
    unset MOCK_HOSTILE
    grep -qF -- "$3" "$work/err" || { cat "$work/err"; fail "$1 is not told: $3"; }
    LC_ALL=C grep -q "$(printf '[\033\233\377]')" "$work/err" && fail "$1: escapes are printed"
}

# slot_name SLOT: what the command calls it
slot_name()
{
    case $1 in
    set_free) echo "free of a set" ;;
    module_free) echo "free of a module" ;;
    *) echo "$1" ;;
    esac
}

ended open=exit 1 'driver second, open: it ended the process'
ended set_create=exit 1 'driver second, set_create: it ended the process'
ended run=exit 1 'driver second, run: it ended the process'
# A model that writes no text is told before anything is loaded on the device.
MOCK_HOSTILE=set_create=exit
export MOCK_HOSTILE
try 3 "$accelctl" run "$src/tests/fixtures/qwen2-tied" --drivers "$work/drivers" --device second -n 1 --prompt x
one_error "tokenizer.json"
unset MOCK_HOSTILE
# What ends the process without a word is named as well, in any slot.
for slot in open set_create compile run; do
    ended $slot=_exit 1 "driver second, $slot: it ended the process (ACCEL_E_INTERNAL)"
done
# So is what ends the thread that calls, after which nobody would work and nobody would hear a signal.
for slot in open claim estimate compile scratch set_create run set_free; do
    ended $slot=thread 1 "driver second, $(slot_name $slot): it ended the thread that called it (ACCEL_E_INTERNAL)"
done
# shellcheck disable=SC2086 # words
MOCK_HOSTILE=run=thread try 1 "$accelctl" $hostile --json
"$json" "$work/out" accelctl/error/1 || fail "the document of a thread that was ended"
# What a driver fails with under a limit that it may not bear names that limit.
# shellcheck disable=SC2086 # words
MOCK_HOSTILE=run=-4 try 4 sh -c 'ulimit -f 8; exec "$@"' sh "$accelctl" $hostile --no-cache
one_error "driver second: run failed"
grep -q 'remedy: the files of this process are limited in size (ulimit -f), .* raise the limit' "$work/err" ||
    { cat "$work/err"; fail "a failure does not name the limit on files"; }
# A code without a text; codes that stand for files and for the user elsewhere.
ended open=-4 4 'driver second: open failed with ACCEL_E_REFUSED and says no more'
ended open=-1 1 'driver second: open failed with ACCEL_E_INVALID'
ended set_create=-9 1 'driver second: set_create failed with ACCEL_E_CORRUPT'
ended run=-11 1 'driver second: run failed with ACCEL_E_NOT_FOUND'
ended run=-19 1 'driver second: run failed with ACCEL_E_LIMIT'
ended open=-3 4 'driver second: open failed with ACCEL_E_UNSUPPORTED'
ended open=-14 1 'driver second: open says that it was cancelled'
ended run=-14 1 'driver second: run says that it was cancelled'
ended open=terminal 1 'driver second, open: ?[31mred???'
ended run=terminal 1 'driver second, run: ?[31mred???'

# What a driver and the libraries below it print goes to the error output: texts and documents stay whole.
for slot in open claim estimate compile scratch set_create run set_free module_free close; do
    # shellcheck disable=SC2086 # words
    MOCK_HOSTILE=$slot=print try 0 "$accelctl" $hostile
    is "$(cat "$work/out")" "$text" "text beside a driver that prints in $slot"
    is "$(grep -c '^and once more, which stays in the buffer' "$work/err" | sed 's/[1-9][0-9]*/some/')" some \
        "lines of a driver that prints in $slot"
    # shellcheck disable=SC2086 # words
    MOCK_HOSTILE=$slot=print try 0 "$accelctl" $hostile --json
    "$json" "$work/out" accelctl/run/1 || fail "the document beside a driver that prints in $slot"
done
MOCK_HOSTILE=claim=print try 0 "$accelctl" plan "$q8" --drivers "$work/drivers" --device second --json
"$json" "$work/out" accelctl/plan/2 || fail "the plan beside a driver that prints"
# Without a standard output, and without an error output.
# shellcheck disable=SC2086 # words
for json_too in '' --json; do
    MOCK_HOSTILE=run=print try 1 sh -c 'exec "$@" >&-' sh "$accelctl" $hostile $json_too
    grep -q 'cannot write to the standard output' "$work/err" || fail "nothing says that there is no standard output"
done
# shellcheck disable=SC2086 # words
MOCK_HOSTILE=run=print try 0 sh -c 'exec "$@" 2>&-' sh "$accelctl" $hostile
is "$(cat "$work/out")" "$text" "text without an error output"

# A file that cannot be written is no input. /proc takes none.
try 1 "$accelctl" snapshot /proc/x.json
one_error "remedy: make room on the disk of /proc, or name a file"
try 1 "$accelctl" plan "$q8" --out /proc/x.json
one_error "remedy: make room on the disk of /proc, or name a file"

# No device at all is wrong usage.
# shellcheck disable=SC2086 # words
for none in '' , ,,; do
    try 2 "$accelctl" $hostile --device "$none"
    one_error "--device names no device"
done

# A crash is named, and stays one; under a checker of addresses, too. In what frees as well.
ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}handle_sigbus=0:handle_abort=0
export ASAN_OPTIONS
ended compile=abort 134 'driver second, compile: the process crashes in it with SIGABRT (ACCEL_E_INTERNAL)'
ended run=bus 135 'driver second, run: the process crashes in it with SIGBUS (ACCEL_E_INTERNAL)'
for slot in set_free module_free close; do
    ended $slot=bus 135 "driver second, $(slot_name $slot): the process crashes in it with SIGBUS (ACCEL_E_INTERNAL)"
done
# A checker of addresses tells of these itself: one that comes when the process ends, after all that was asked for, and
# a full stack.
if ! sanitized; then
    ended run=late 139 \
        'the work is done, and a library crashes while the process ends, with SIGSEGV; drivers that were loaded: '
    is "$(cat "$work/out")" "$text" "text of a process that crashes at its end"
    grep -q 'drivers that were loaded: .*second' "$work/err" || { cat "$work/err"; fail "the driver is not told"; }
    ended open=deep 139 'driver second, open: the process crashes in it with SIGSEGV (ACCEL_E_INTERNAL)'
fi
# shellcheck disable=SC2086 # words
MOCK_HOSTILE=run=abort try 134 "$accelctl" $hostile --json
"$json" "$work/out" accelctl/error/1 || fail "the document of a crash"
is "$(value error.exit)" 134 "its status"

# Compilers end the process where they get no memory or files: limits that the process has are named first.
(ulimit -n 63 && MOCK_HOSTILE=compile=abort exec "$accelctl" $hostile) >"$work/out" 2>"$work/err" </dev/null
is $? 134 "status of a crash with few files"
grep -q 'remedy: this process may open few files (ulimit -n), .* raise the limit' "$work/err" ||
    { cat "$work/err"; fail "a crash does not name the limit of files"; }
(ulimit -s 4096 && MOCK_HOSTILE=run=bus exec "$accelctl" $hostile) >"$work/out" 2>"$work/err" </dev/null
is $? 135 "status of a crash with a small stack"
grep -q 'remedy: the stack of this process is limited (ulimit -s), .* raise the limit to 8192' "$work/err" ||
    { cat "$work/err"; fail "a crash does not name the limit of the stack"; }
if ! sanitized; then
    (ulimit -v 40000000 && MOCK_HOSTILE=compile=exit exec "$accelctl" $hostile) >"$work/out" 2>"$work/err" </dev/null
    is $? 1 "status of an end with little memory"
    grep -q 'remedy: the memory of this process is limited (ulimit -v), .* raise the limit' "$work/err" ||
        { cat "$work/err"; fail "an end does not name the limit of memory"; }
fi
grep -q 'ulimit' "$work/out" && fail "the remedy is printed as text"
# The next start tells of it once more.
# shellcheck disable=SC2086 # words
try 0 "$accelctl" $hostile
(ulimit -n 8 && XDG_CACHE_HOME=$work/fresh exec "$accelctl" devices --all) >"$work/out" 2>"$work/err" </dev/null
grep -q 'remedy: let the process open more files (ulimit -n)' "$work/out" "$work/err" ||
    { cat "$work/out" "$work/err"; fail "no remedy where no child can be started for want of files"; }

# An end that the command cannot see is told by the next start, once, and the driver is used as before.
for slot in open compile; do
    # shellcheck disable=SC2086 # words
    MOCK_HOSTILE=$slot=gone try 0 "$accelctl" $hostile
    is "$(cat "$work/out" "$work/err")" "" "words of a process that $slot has ended"
    # shellcheck disable=SC2086 # words
    try 0 "$accelctl" $hostile
    grep -q "^error: .*/second.so\" slot=\"$slot\" text=\"an earlier process ended" "$work/err" ||
        { cat "$work/err"; fail "nobody tells that $slot ended a process"; }
    # shellcheck disable=SC2086 # words
    try 0 "$accelctl" $hostile
    is "$(cat "$work/out" "$work/err")" "$text" "what is written when it was told"
done
# Where that driver is not asked for, nothing is told.
# shellcheck disable=SC2086 # words
MOCK_HOSTILE=open=gone try 0 "$accelctl" $hostile
try 0 "$accelctl" devices --drivers "$MOCK_UNDER"
grep -q 'second.so' "$work/err" && fail "an end in a driver that is not asked for is told"
MOCK_TURNS=gone try 0 "$accelctl" devices --drivers "$ACCEL_TEST_BUILDDIR/tests/mock/.libs/turns.so"
is "$(cat "$work/out" "$work/err")" "" "words of a process that a driver has ended"
try 0 "$accelctl" devices --drivers "$ACCEL_TEST_BUILDDIR/tests/mock/.libs/turns.so"
grep -q '/turns.so" slot="enumerate" text="an earlier process ended' "$work/err" ||
    { cat "$work/err"; fail "nobody tells that enumerate ended a process"; }

# On a full disk: Mesa is asked to keep nothing, and an end in a driver has its remedy. /proc is always full.
ended open=mesa 1 'driver second, open: keeps nothing: no'
ordinary=$XDG_CACHE_HOME
XDG_CACHE_HOME=/proc/nowhere
ended open=mesa 1 'driver second, open: keeps nothing: true'
ended compile=exit 1 'remedy: the disk of /proc/nowhere is full'
# Whatever the folder is called.
XDG_CACHE_HOME=$(printf '/proc/a"b\\\n\033[31mc')
ended compile=exit 1 'remedy: the disk of /proc/a"b\??[31mc is full'
# shellcheck disable=SC2086 # words
MOCK_HOSTILE=compile=exit try 1 "$accelctl" $hostile --json
"$json" "$work/out" accelctl/error/1 || fail "the document of an end on a full disk"
XDG_CACHE_HOME=$ordinary

# A driver that compiles with all threads is lent one for each processor.
processors=$(nproc)
[ "$processors" -le 32 ] || processors=32
ended compile=crew 4 "of $processors ranks $processors ran twice"

# await_hanging: until the driver hangs or takes its time, and so the run handles an interrupt; at most a minute
await_hanging()
{
    tries=0
    until [ -e "$work/hangs" ]; do
        tries=$((tries + 1))
        [ $tries -lt 600 ] && kill -0 $pid 2>/dev/null || break
        sleep 0.1
    done
}

# A signal while the driver hangs: the command ends without it, also where the driver has blocked all signals.
for how in INT:130:run=hang TERM:143:run=hang INT:130:set_create=hang INT:130:set_free=hang TERM:143:run=deaf; do
    call=${how##*:}
    signal=${how%:*}
    rm -f "$work/hangs"
    # shellcheck disable=SC2086 # words
    MOCK_HANGS=$work/hangs MOCK_HOSTILE=$call "$accelctl" $hostile >"$work/out" 2>"$work/err" </dev/null &
    pid=$!
    await_hanging
    kill -${signal%:*} $pid
    (sleep 60 && kill -KILL $pid) 2>/dev/null &
    watchdog=$!
    wait $pid
    status=$?
    kill $watchdog 2>/dev/null
    is $status ${signal#*:} "status after SIG${signal%:*} in $call"
    grep -qF "driver second, $(slot_name ${call%=*}): it does not end" "$work/err" ||
        { cat "$work/err"; fail "the driver that hangs is not told: $call"; }
done
# What hangs while it is planned is named while it does, and ends with the signal at once.
rm -f "$work/hangs"
# shellcheck disable=SC2086 # words
MOCK_HANGS=$work/hangs MOCK_HOSTILE=claim=hang "$accelctl" $hostile >"$work/out" 2>"$work/err" </dev/null &
pid=$!
tries=0
until grep -q 'waiting for driver second in claim, for 5 seconds so far' "$work/err" || [ $tries -ge 600 ]; do
    tries=$((tries + 1))
    sleep 0.1
done
[ $tries -lt 600 ] || fail "a driver that hangs in claim is not named"
kill -TERM $pid
wait $pid
is $? 143 "status after SIGTERM in claim"

# Also where the caller has blocked them.
if env --block-signal=ALRM true 2>/dev/null; then
    rm -f "$work/hangs"
    # shellcheck disable=SC2086 # words
    MOCK_HANGS=$work/hangs MOCK_HOSTILE=run=hang env --block-signal=ALRM,TERM "$accelctl" $hostile \
        >"$work/out" 2>"$work/err" </dev/null &
    pid=$!
    await_hanging
    kill -TERM $pid
    (sleep 60 && kill -KILL $pid) 2>/dev/null &
    watchdog=$!
    wait $pid
    status=$?
    kill $watchdog 2>/dev/null
    is $status 143 "status after SIGTERM that the caller had blocked"
    grep -qF 'driver second, run: it does not end' "$work/err" ||
        { cat "$work/err"; fail "the driver that hangs is not told where signals are blocked"; }
fi

# A driver that is good in its probe and hangs in the process is named while it does, and ended by an interrupt at once.
mkdir "$work/turns"
chmod 755 "$work/turns"
cp "$ACCEL_TEST_BUILDDIR/tests/mock/.libs/turns.so" "$work/turns/"
MOCK_TURNS=hang "$accelctl" devices --drivers "$work/turns" >"$work/out" 2>"$work/err" </dev/null &
pid=$!
tries=0
until grep -q 'waiting for driver turns in enumerate, for 5 seconds so far' "$work/err" || [ $tries -ge 600 ]; do
    tries=$((tries + 1))
    sleep 0.1
done
[ $tries -lt 600 ] || fail "a driver that hangs in enumerate is not named"
kill -TERM $pid
wait $pid
is $? 143 "status after SIGTERM in enumerate"
# The user ended it, which is not the driver's doing: nobody is told.
try 0 "$accelctl" devices --drivers "$work/turns"
is "$(cat "$work/err")" "" "words of a start after the user's own signal"

# While kernels are compiled, too: a driver that asks ends in time, one that does not is named; in JSON where that is
# asked for.
for how in slow:ACCEL_E_CANCELLED:'compiling was stopped' hang:ACCEL_E_TIMEOUT:'it does not end'; do
    words=${how#*:}
    rm -f "$work/hangs"
    # shellcheck disable=SC2086 # words
    MOCK_HANGS=$work/hangs MOCK_HOSTILE=compile=${how%%:*} "$accelctl" $hostile --json >"$work/out" 2>"$work/err" </dev/null &
    pid=$!
    await_hanging
    kill -INT $pid
    wait $pid
    is $? 130 "status after SIGINT in compile=${how%%:*}"
    "$json" "$work/out" accelctl/error/1 || fail "the document of an interrupt in compile=${how%%:*}"
    is "$(value error.code)" "${words%%:*}" "code of compile=${how%%:*}"
    is "$(value error.exit)" 130 "its status"
    case $(value error.text) in
    "driver second, compile: ${words#*:}"*) ;;
    *) fail "text of compile=${how%%:*}: $(value error.text)" ;;
    esac
    # shellcheck disable=SC2086 # words
    try 0 "$accelctl" $hostile
    is "$(cat "$work/err")" "" "words of a start after an interrupt in compile=${how%%:*}"
done
# A second signal ends the command at once, and leaves nothing to tell either.
rm -f "$work/hangs"
# shellcheck disable=SC2086 # words
MOCK_HANGS=$work/hangs MOCK_HOSTILE=compile=hang "$accelctl" $hostile >"$work/out" 2>"$work/err" </dev/null &
pid=$!
await_hanging
kill -TERM $pid
kill -INT $pid
wait $pid
status=$?
[ $status = 130 ] || [ $status = 143 ] || fail "status $status after two signals"
# shellcheck disable=SC2086 # words
try 0 "$accelctl" $hostile
is "$(cat "$work/err")" "" "words of a start after two signals"

# What it changes of its caller is put back.
rm -rf "$work/state"
MOCK_HOSTILE=set_create=mask
export MOCK_HOSTILE
# shellcheck disable=SC2086 # words
try 0 "$accelctl" $hostile
is "$(cat "$work/out")" "$text" "text with masks that a driver leaves"
is "$(find "$work/state" -name history.jsonl | wc -l)" 1 "files of the history"
is "$(find "$work/state" -perm 000 | wc -l)" 0 "files that nobody may read"
finish
