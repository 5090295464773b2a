#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A device with memory enough that binds little at a time: what a run would be refused for, the plan refuses, with the
# numbers, and with what would do; that is what --max-context finds, and what runs.
. "$ACCEL_TEST_SRCDIR/tests/accelctl/lib.sh"
mock=$ACCEL_TEST_BUILDDIR/tests/mock/.libs/narrow.so
if sanitized; then
    echo "skipped: a driver that loads a driver, which sanitizers report as a second copy"
    exit 77
fi

on="--drivers $mock --device narrow"
halves="--set kv.type.k=f16 --set kv.type.v=f16"
# 512 slots of 64 bytes are 32 KiB, 16 KiB are 256 slots.
for command in plan "run -n 4 --prompt Once"; do
    # shellcheck disable=SC2086
    try 5 "$accelctl" $command "$q8" $on $halves
    one_error "the keys of layer 0 (language) have 512 slots of 64 bytes, 32768 in all, and device narrow:cpu0 binds no more than 16384"
    grep -q "remedy: 256 slots would do: a smaller context" "$work/err" || fail "no remedy: $(cat "$work/err")"
done
# shellcheck disable=SC2086
try 5 "$accelctl" plan "$q8" --json $on $halves
is "$(value error.code)" ACCEL_E_LIMIT "code of a plan that is over a limit"
# shellcheck disable=SC2086
try 0 "$accelctl" plan "$q8" $on $halves --set context=256tok
has "FITS"
# shellcheck disable=SC2086
try 0 "$accelctl" run "$q8" $on $halves --set context=256tok -n 4 -q --prompt "Once"
# shellcheck disable=SC2086
try 0 "$accelctl" plan "$q8" $on $halves --set context=16tok --max-context
has "256 tokens fit (trained for 512); planned are 16"
# Inputs and outputs: 8 rows of 512 logits fit, 9 do not.
# shellcheck disable=SC2086
try 5 "$accelctl" plan "$q8" $on --set context=16tok --set sequences=9 --set batch=9tok
one_error "output logits of a step has 18432 bytes, and device narrow:cpu0 makes no buffer of over 16384"
# shellcheck disable=SC2086
try 0 "$accelctl" plan "$q8" $on --set context=16tok --set sequences=8 --set batch=8tok

# The same of a recording of that machine, where no driver can be asked: a limit is a limit there, too.
host=$work/narrow.json
# shellcheck disable=SC2086
try 0 "$accelctl" snapshot "$host" --drivers "$mock"
there="--host $host --device narrow"
# shellcheck disable=SC2086
try 5 "$accelctl" plan "$q8" $there $halves
one_error "the keys of layer 0 (language) have 512 slots of 64 bytes, 32768 in all, and device narrow:cpu0 binds no more than 16384"
grep -q "remedy: 256 slots would do: a smaller context" "$work/err" || fail "no remedy: $(cat "$work/err")"
# shellcheck disable=SC2086
try 5 "$accelctl" plan "$q8" --json $there $halves
is "$(value error.code)" ACCEL_E_LIMIT "code of a recorded plan that is over a limit"
case $(value error.remedy) in "256 slots would do"*) ;; *) fail "remedy: $(value error.remedy)" ;; esac
# shellcheck disable=SC2086
try 5 "$accelctl" plan "$q8" $there --set context=16tok --set sequences=9 --set batch=9tok
one_error "output logits of a step has 18432 bytes, and device narrow:cpu0 makes no buffer of over 16384"
# shellcheck disable=SC2086
try 0 "$accelctl" plan "$q8" $there --set context=16tok --set sequences=8 --set batch=8tok
has "FITS"
# shellcheck disable=SC2086
try 0 "$accelctl" plan "$q8" $there $halves --set context=16tok --max-context
has "256 tokens fit (trained for 512); planned are 16"
# The scratch of a device with queues is one buffer: the formula is no reason to refuse, and it is told.
sed '/"inline_bytes"/{n;s/"threads": [0-9]*/"queues": 1/;}' "$host" >"$work/queues.json"
try 0 "$accelctl" plan "$q8" --host "$work/queues.json" --device narrow --set context=16tok
has "the scratch of a step is one buffer"
# Where drivers find no device for want of memory, that is named first.
if ! sanitized; then
    try 4 sh -c 'ulimit -v 40000000; exec "$@"' sh "$accelctl" plan "$q8" --device nobody
    grep -q 'remedy: the memory of this process is limited (ulimit -v), which may be why drivers find no device: raise' \
        "$work/err" || { cat "$work/err"; fail "a limit of memory is not named where there is no device"; }
    # Under such a limit a driver that found no device in its probe is not loaded: vendor libraries abort a process that
    # lacks memory. Lists of libraries that are searched are written by glibc.
    OCL_ICD_VENDORS=/nonexistent VK_DRIVER_FILES=/nonexistent LD_DEBUG=libs LD_DEBUG_OUTPUT="$work/libs" \
        sh -c 'ulimit -v 40000000; echo $$ >"$1"; shift; exec "$@"' sh "$work/pid" "$accelctl" devices --no-cache \
        >"$work/out" 2>"$work/err" || fail "devices under a limit: $(cat "$work/err")"
    has "cpu:cpu0"
    if grep -lE 'find library=lib(OpenCL|vulkan)' "$work"/libs.* >"$work/searched" 2>"$work/err"; then
        grep -q "libs.$(cat "$work/pid")$" "$work/searched" && fail "a library of a vendor is loaded in the process"
        checks=$((checks + 1))
    fi
    # A lack of memory names the limit; so does a thread that cannot be started.
    limit=8000
    while [ $((limit += 1000)) -le 40000 ]; do
        (ulimit -v $limit && exec "$accelctl" run "$q8" --no-cache --device cpu -q -n 1 -p Once) >"$work/out" \
            2>"$work/err"
        status=$?
        case $status in
        0 | 4 | 127) continue ;; # it fits; no driver; the program itself does not start
        139) [ $limit -lt 20000 ] || fail "a crash with $limit KiB"; continue ;; # too little for the loader of libraries
        1 | 5) grep -q 'remedy: .*(ulimit -v' "$work/err" || fail "$limit KiB: $(cat "$work/err")" ;;
        *) fail "status $status with $limit KiB: $(cat "$work/err")" ;;
        esac
        checks=$((checks + 1))
    done
fi
finish
