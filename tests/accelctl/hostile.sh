#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A driver that misbehaves in a run: the command ends with its name and the slot, not with silence.
. "$ACCEL_TEST_SRCDIR/tests/accelctl/lib.sh"
crash_by_signal

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

# Calls that take no time of their own end the command where they do not come back: these wait in the background.
waiting=
for slot in close set_free detach; do
    # shellcheck disable=SC2086 # words
    (MOCK_HOSTILE=$slot=hang exec "$accelctl" $hostile) >"$work/$slot.out" 2>"$work/$slot.err" </dev/null &
    waiting="$waiting $slot:$!"
done
# shellcheck disable=SC2086 # words
(MOCK_HOSTILE=set_free=hang exec "$accelctl" $hostile --json) >"$work/json.out" 2>"$work/json.err" </dev/null &
waiting="$waiting json:$!"

ended open=exit 1 'driver second, open: it ended the process'
ended set_create=exit 1 'driver second, set_create: it ended the process'
ended run=exit 1 'driver second, run: it ended the process'
# A model that writes no text is told before anything is loaded on the device.
MOCK_HOSTILE=set_create=exit
export MOCK_HOSTILE
try 3 "$accelctl" run "$src/tests/fixtures/qwen2-tied" --drivers "$work/drivers" --device second -n 1 --prompt x
one_error "tokenizer.json"
unset MOCK_HOSTILE
# What a driver fails with under a limit that it may not bear names that limit.
# shellcheck disable=SC2086 # words
MOCK_HOSTILE=run=-4 try 4 sh -c 'ulimit -f 8; exec "$@"' sh "$accelctl" $hostile --no-cache
one_error "driver second: run failed"
grep -q 'remedy: the files of this process are limited in size (ulimit -f), .* raise the limit' "$work/err" ||
    { cat "$work/err"; fail "a failure does not name the limit on files"; }
# A code without a text; codes that stand for files and for the user elsewhere.
ended open=-4 4 'driver second: open failed with ACCEL_E_REFUSED and without an error text'
ended open=-1 1 'driver second: open failed with ACCEL_E_INVALID'
ended set_create=-9 1 'driver second: set_create failed with ACCEL_E_CORRUPT'
ended run=-11 1 'driver second: run failed with ACCEL_E_NOT_FOUND'
ended run=-19 1 'driver second: run failed with ACCEL_E_LIMIT'
ended open=-3 4 'driver second: open failed with ACCEL_E_UNSUPPORTED'
ended open=-14 1 'driver second: open returned ACCEL_E_CANCELLED'
ended run=-14 1 'driver second: run returned ACCEL_E_CANCELLED'
ended open=terminal 1 'driver second, open: ?[31mred???'
ended run=terminal 1 'driver second, run: ?[31mred???'
# Two million lines of an estimate are refused at the first too many.
MOCK_HOSTILE=estimate=many try 1 "$accelctl" plan "$q8" --drivers "$work/drivers" --device second
one_error "driver second: its estimate has more than 256 rows (ACCEL_E_LIMIT)"
# What it computes wrong is no fault of the file, whose weights are read once more.
ended run=nan 1 "driver second: it computed logits that are not finite, and all weights of $q8 are"
MOCK_HOSTILE=run=nan try 1 "$accelctl" eval --text "$src/README.md" --tokens 64 "$q8" --drivers "$work/drivers" \
    --device second
one_error "driver second: it computed logits that are not finite, and all weights of $q8 are"

# What a driver and the libraries below it print goes to the error output: texts and documents stay whole.
for slot in open claim estimate compile scratch set_create run set_free module_free close; do
    # shellcheck disable=SC2086 # words
    MOCK_HOSTILE=$slot=print try 0 "$accelctl" $hostile
    is "$(cat "$work/out")" "$text" "text beside a driver that prints in $slot"
    is "$(grep -c '^and once more, which stays in the buffer' "$work/err" | sed 's/[1-9][0-9]*/some/')" some \
        "lines of a driver that prints in $slot"
    grep -q "^in $slot,  the vendor's runtime says ?\]0;title??\[31mhello\$" "$work/err" ||
        { cat "$work/err"; fail "what a driver prints in $slot is not cleaned"; }
    LC_ALL=C grep -q "$(printf '[\033\007]')" "$work/err" && fail "escapes are printed in $slot"
    # shellcheck disable=SC2086 # words
    MOCK_HOSTILE=$slot=print try 0 "$accelctl" $hostile --json
    "$json" "$work/out" accelctl/run/1 || fail "the document beside a driver that prints in $slot"
done
# Nor does a terminal get escape sequences from the error output of a driver; those of our progress it does.
for slot in open compile run close; do
    MOCK_HOSTILE=$slot=complain script -qec "'$accelctl' $hostile" /dev/null >"$work/terminal" 2>&1 </dev/null
    grep -q "in $slot, an error of the vendor's runtime ?\[31mred" "$work/terminal" ||
        { cat "$work/terminal"; fail "the error output of a driver in $slot is not cleaned for a terminal"; }
    LC_ALL=C grep -q "$(printf '\033\[31m')" "$work/terminal" && fail "escapes of $slot reach the terminal"
done
MOCK_HOSTILE=claim=print try 0 "$accelctl" plan "$q8" --drivers "$work/drivers" --device second --json
"$json" "$work/out" accelctl/plan/2 || fail "the plan beside a driver that prints"
# Without a standard output, and without an error output.
# shellcheck disable=SC2086 # words
for json_too in '' --json; do
    MOCK_HOSTILE=run=print try 1 sh -c 'exec "$@" >&-' sh "$accelctl" $hostile $json_too
    grep -q 'cannot write to the standard output' "$work/err" || fail "nothing says that there is no standard output"
done
for command in doctor snapshot; do
    try 1 sh -c 'exec "$@" >&-' sh "$accelctl" $command
    grep -q 'cannot write to the standard output' "$work/err" || fail "$command does not say that there is no standard output"
done
# Without any standard file, nothing that is opened becomes one of them.
# shellcheck disable=SC2086 # words
MOCK_HOSTILE=run=print try 1 sh -c 'exec "$@" <&- >&- 2>&-' sh "$accelctl" $hostile
try 1 sh -c 'exec "$@" >&- 2>&-' sh "$accelctl" plan "$q8"
MOCK_HOSTILE=run=print try 0 sh -c 'exec "$@" 2>&-' sh "$accelctl" $hostile
is "$(cat "$work/out")" "$text" "text without an error output"

# A file that cannot be written is no input. /proc takes none.
try 1 "$accelctl" snapshot /proc/x.json
one_error "remedy: check that files can be made in /proc, or name a file"
try 1 "$accelctl" plan "$q8" --out /proc/x.json
one_error "remedy: check that files can be made in /proc, or name a file"

# No device at all is wrong usage.
for none in '' , ,,; do
    try 2 "$accelctl" run "$q8" --drivers "$work/drivers" -n 1 --device "$none"
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
        'the command crashes, or a thread of a library below it, with SIGSEGV (ACCEL_E_INTERNAL)'
    is "$(cat "$work/out")" "$text" "text of a process that crashes at its end"
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
(ulimit -n 12 && XDG_CACHE_HOME=$work/fresh exec "$accelctl" devices --all) >"$work/out" 2>"$work/err" </dev/null
grep -q 'remedy: let the process open more files (ulimit -n)' "$work/out" "$work/err" ||
    { cat "$work/out" "$work/err"; fail "no remedy where no child can be started for want of files"; }

# A driver that compiles with all threads gets one for each processor.
processors=$(nproc)
[ "$processors" -le 32 ] || processors=32
ended compile=team 4 "of $processors threads $processors ran twice"

# await_hanging: until the driver hangs or takes its time, and so the run handles an interrupt
await_hanging()
{
    wait_until $pid test -e "$work/hangs"
}
# await_end PID: the status of the process, which is killed if it does not end
await_end()
{
    wait_until $1 false
    kill -KILL $1 2>/dev/null
    wait $1
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
    await_end $pid
    is $? ${signal#*:} "status after SIG${signal%:*} in $call"
    grep -qF "driver second, $(slot_name ${call%=*}): interrupted, it does not end" "$work/err" ||
        { cat "$work/err"; fail "the driver that hangs is not told: $call"; }
done
# named PID DRIVER SLOT: a call that hangs is named while it does, and the command ends with the signal at once.
named()
{
    wait_until $1 grep -q "waiting for driver $2 in $3, for 5 seconds so far" "$work/$3.err" ||
        fail "a driver that hangs in $3 is not named"
    kill -TERM $1
    wait $1
    is $? 143 "status after SIGTERM in $3"
}
# A driver that computes without end on a busy processor is ended when it has had 5 seconds of it.
one=$(taskset -cp $$ | sed 's/.*: //; s/[,-].*//')
rm -f "$work/hangs"
# shellcheck disable=SC2086 # words
MOCK_HANGS=$work/hangs MOCK_HOSTILE=run=busy taskset -c "$one" "$accelctl" $hostile >"$work/busy.out" 2>"$work/busy.err" </dev/null &
computing=$!
wait_until $computing test -e "$work/hangs"
for other in 1 2; do
    # The others end with the driver.
    taskset -c "$one" sh -c "while kill -0 $computing; do :; done" 2>/dev/null &
done
kill -TERM $computing
# A driver that hangs while it is planned, and one that is good in its probe and hangs in the process.
# shellcheck disable=SC2086 # words
(MOCK_HOSTILE=claim=hang exec "$accelctl" $hostile) >"$work/claim.out" 2>"$work/claim.err" </dev/null &
planning=$!
mkdir "$work/turns"
chmod 755 "$work/turns"
cp "$ACCEL_TEST_BUILDDIR/tests/mock/.libs/turns.so" "$work/turns/"
(MOCK_TURNS=hang exec "$accelctl" devices --drivers "$work/turns") >"$work/enumerate.out" 2>"$work/enumerate.err" </dev/null &
enumerating=$!
named $planning second claim
named $enumerating turns enumerate
await_end $computing
is $? 143 "status after SIGTERM in a driver that computes"
grep -qF "driver second, $(slot_name run): interrupted, it does not end within 5 seconds" "$work/busy.err" ||
    { cat "$work/busy.err"; fail "a driver that computes on a busy processor is not ended"; }
# A driver that crashes in the process is named, and a probe anew is the remedy.
MOCK_TURNS=segv try 139 "$accelctl" devices --drivers "$work/turns"
grep -qF 'driver turns, enumerate: the process crashes in it with SIGSEGV (ACCEL_E_INTERNAL)' "$work/err" ||
    { cat "$work/err"; fail "a driver that crashes in enumerate is not named"; }
grep -q 'remedy: --no-cache probes the driver anew' "$work/err" || fail "a crash in enumerate has no remedy"
# While kernels are compiled, too: a driver that asks ends in time, one that does not is named; in JSON where that is
# asked for.
for how in slow:ACCEL_E_CANCELLED:'compiling was stopped' hang:ACCEL_E_CANCELLED:'interrupted, it does not end within 5 seconds'; do
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
done
# A second signal ends the command at once.
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

# The calls that did not come back: all that was asked for is there, and the driver is named.
for how in $waiting; do
    slot=${how%:*}
    await_end "${how#*:}"
    is $? 1 "status of a command that $slot holds"
    name=$(slot_name "$(echo "$slot" | sed 's/json/set_free/')")
    grep -q "^accelctl: driver second, $name: it has not come back for 30 seconds, .* (ACCEL_E_TIMEOUT)" \
        "$work/$slot.err" || { cat "$work/$slot.err"; fail "the driver that hangs in $slot is not named"; }
done
# The device that planning opened is closed once, after the run.
is "$(cat "$work/close.out")" "$text" "text of a command that close holds"
is "$(cat "$work/set_free.out")" "$text" "text of a command that set_free holds"
is "$(cat "$work/detach.out")" "$text" "text of a command that detach holds"
"$json" "$work/json.out" accelctl/run/1 || fail "the document of a command that set_free holds"

# Signals that it blocks are let through again, also in a step; the log tells it of many steps once.
for slot in set_create run; do
    # shellcheck disable=SC2086 # words
    MOCK_HOSTILE=$slot=mask try 0 "$accelctl" $hostile -v
    is "$(cat "$work/out")" "$text" "text with signals that a driver blocks in $slot"
    grep -q "driver=second slot=$slot changed=\"blocked signals\" restored=1" "$work/err" ||
        { cat "$work/err"; fail "the log has nothing of the signals that are blocked in $slot"; }
done
is "$(grep -c "driver=second slot=run changed=" "$work/err")" 1 "lines of the log about all steps"
finish
