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

ended open=exit 1 'driver second, open: it ended the process'
ended set_create=exit 1 'driver second, set_create: it ended the process'
ended run=exit 1 'driver second, run: it ended the process'
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

# await_handler: until the run handles an interrupt, which the shell on its way to it is not asked for; at most a minute
await_handler()
{
    tries=0
    until case $(readlink "/proc/$pid/exe") in *accelctl) grep -q '^SigCgt:.*[2367abefABEF]$' "/proc/$pid/status" ;; *) false ;; esac; do
        tries=$((tries + 1))
        [ $tries -lt 600 ] && kill -0 $pid 2>/dev/null || break
        sleep 0.1
    done
}

# A signal while the driver hangs: the command ends without it.
for signal in INT:130 TERM:143; do
    # shellcheck disable=SC2086 # words
    MOCK_HOSTILE=run=hang "$accelctl" $hostile >"$work/out" 2>"$work/err" </dev/null &
    pid=$!
    await_handler
    kill -${signal%:*} $pid
    wait $pid
    is $? ${signal#*:} "status after SIG${signal%:*} in a driver that hangs"
    grep -qF 'driver second, run: it does not end' "$work/err" ||
        { cat "$work/err"; fail "the driver that hangs is not told"; }
done

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
