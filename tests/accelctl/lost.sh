#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A device that is lost in the middle of a run, through the command: the run ends with the name of the loss, the device,
# what to do, and status 1 of a failed run; what was written before it stays written; the other device of the same plan
# writes all of the text. And how often a command opens the device and asks it. The driver is the cpu driver's under
# another name.
. "$ACCEL_TEST_SRCDIR/tests/accelctl/lib.sh"
mock=$ACCEL_TEST_BUILDDIR/tests/mock/.libs/lossy.so
if sanitized; then
    echo "skipped: a driver that loads a driver, which sanitizers report as a second copy"
    exit 77
fi

try 0 "$accelctl" devices --drivers "$mock"
has "second:cpu0"
try 0 "$accelctl" run "$f32" --greedy -q -n 48 --prompt "Once upon a time"
text=$(cat "$work/out")

# lost DEVICE OPTION...: a run that loses second:cpu0; it has written the beginning of the text.
lost()
{
    try 1 "$accelctl" run "$f32" --drivers "$mock" --greedy -n 48 -q --prompt "Once upon a time" "$@"
    one_error "device second:cpu0 was lost: driver second, run: the mock was told to lose it in run"
    checks=$((checks + 1))
    grep -q '(ACCEL_E_DEVICE_LOST)$' "$work/err" || fail "the loss has no name: $(cat "$work/err")"
    grep -q '^  remedy: use another device' "$work/err" || fail "no remedy: $(cat "$work/err")"
    written=$(cat "$work/out")
    case $text in
    "$written"*) [ -n "$written" ] || fail "nothing was written before the loss" ;;
    *) fail "what was written before the loss is '$written', no beginning of '$text'" ;;
    esac
}

for placement in single 0-1=cpu:cpu0,2-4=second:cpu0 0-2=second:cpu0,3-4=cpu:cpu0; do
    set -- --set "placement=$placement"
    [ "$placement" = single ] && set -- --device second:cpu0
    try 0 "$accelctl" run "$f32" --drivers "$mock" --greedy -q -n 48 --prompt "Once upon a time" "$@"
    is "$(cat "$work/out")" "$text" "text of a device that is not lost, $placement"
    lost "$@" --set second.losing=12
    # The first step, before anything is written.
    try 1 "$accelctl" run "$f32" --drivers "$mock" --greedy -q -n 48 --prompt "Once upon a time" "$@" \
        --set second.losing=1
    one_error "device second:cpu0 was lost"
done

# Options are for drivers that layers lie on, and for no other.
try 2 "$accelctl" run "$f32" --drivers "$mock" -q -n 1 --set placement=0-1=cpu:cpu0,2-4=second:cpu0 --set third.losing=1
one_error 'setting "third.losing" is unknown'

# The same as JSON, for programs: the error has its code and its remedy.
try 1 "$accelctl" run "$f32" --drivers "$mock" --greedy -n 48 --json --prompt "Once upon a time" --device second:cpu0 \
    --set second.losing=12
is "$(value error.code)" ACCEL_E_DEVICE_LOST "code of a loss"

# What the remedy says: the device that is left writes all of the text.
try 0 "$accelctl" run "$f32" --drivers "$mock" --greedy -q -n 48 --prompt "Once upon a time" --device cpu:cpu0
is "$(cat "$work/out")" "$text" "text of the device that is left"
# counts OPENS CLAIMS ESTIMATES COMPILES COMMAND OPTION...: how often the command called these slots of the driver. The
# compiled module claims for itself, since it may be made without a plan.
counts()
{
    wanted_calls="open $1 claim $2 estimate $3 compile $4 close $1"
    shift 4
    rm -f "$work/calls"
    try 0 env "ACCEL_TEST_CALLS=$work/calls" "$accelctl" "$@" --drivers "$mock"
    calls=
    for slot in open claim estimate compile close; do
        calls="$calls${calls:+ }$slot $(grep -cx $slot "$work/calls")"
    done
    is "$calls" "$wanted_calls" "calls of accelctl $*"
}
counts 1 1 1 0 plan "$f32" --device second:cpu0
counts 1 1 1 0 plan "$f32" --device second:cpu0 --out "$work/plan.json"
counts 1 2 1 1 run "$f32" --device second:cpu0 -q -n 2 --prompt Once
counts 1 2 1 1 run "$work/plan.json" -q -n 2 --prompt Once
counts 1 2 1 1 run "$f32" --set placement=0-1=cpu:cpu0,2-4=second:cpu0 -q -n 2 --prompt Once
# A recorded plan over two devices is repeated, too.
counts 1 1 1 0 plan "$f32" --set placement=0-1=cpu:cpu0,2-4=second:cpu0 --out "$work/spread.json"
counts 1 2 1 1 run "$work/spread.json" -q -n 2 --prompt Once

"$accelctl" --help | grep -q "^  1  .*a run" || fail "--help does not say what status 1 is"
finish
