#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Misbehaving drivers: each is one refused row of accelctl plugins with its reason, and a model still runs.
. "$ACCEL_TEST_SRCDIR/tests/accelctl/lib.sh"

# In a build with sanitizers the probes must die as others do, by the signal.
ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}handle_segv=0:handle_abort=0"
export ASAN_OPTIONS
mocks=$ACCEL_TEST_BUILDDIR/tests/mock/.libs
drivers=$work/drivers
mkdir "$drivers"
chmod 755 "$work" "$drivers"
for name in missing_symbol wrong_abi crash_in_constructor hang_in_constructor no_note no_entry exec_stack; do
    cp "$mocks/$name.so" "$drivers/" || exit 99
done
cp "$mocks/good.so" "$drivers/writable.so"
chmod 666 "$drivers/writable.so"
echo "no ELF" >"$drivers/text.so"

try 0 "$accelctl" plugins --drivers "$drivers" --json
cp "$work/out" "$work/plugins.json"
count=$(value plugins.#)
row=0
refused=0
while [ $row -lt "$count" ]; do
    path=$(value plugins.$row.path)
    state=$(value plugins.$row.state)
    text=$(value plugins.$row.text)
    case $path in
    "$drivers"/*)
        refused=$((refused + 1))
        [ "$state" = refused ] || fail "$path is $state"
        [ -n "$text" ] || fail "$path: no reason"
        ;;
    */cpu.so) is "$state" loaded "state of $path" ;; # other drivers want libraries that may not be installed
    esac
    case $path in
    */writable.so) is "$(value plugins.$row.code)" ACCEL_E_DENIED "code of a file that everybody may write" ;;
    */wrong_abi.so) is "$(value plugins.$row.code)" ACCEL_E_ABI "code of another ABI" ;;
    */hang_in_constructor.so) is "$(value plugins.$row.code)" ACCEL_E_TIMEOUT "code of a hang" ;;
    */crash_in_constructor.so) [ "$(value plugins.$row.signal)" != 0 ] || fail "no signal of a crash" ;;
    esac
    row=$((row + 1))
done
is $refused 9 "refused rows"

# The same as text: a row of each, and reasons below it. Now the results of probes are known.
try 0 "$accelctl" plugins --drivers "$drivers"
is "$(grep -c '^[^ ].* refused ' "$work/out")" 9 "refused rows as text"
is "$(grep -c '^cpu .* loaded ' "$work/out")" 1 "loaded rows as text"
try 0 "$accelctl" devices --drivers "$drivers"
has "cpu:cpu0"
try 0 "$accelctl" run "$q8" --drivers "$drivers" --greedy -q -n 5
is "$(cat "$work/out")" "Once upon a time," "text beside bad drivers"

# A good driver beside them is a row of its own.
rm "$drivers"/*
cp "$mocks/good.so" "$drivers/"
try 0 "$accelctl" plugins --drivers "$drivers"
is "$(grep -c '^[^ ].* loaded .*/\(good\|cpu\)\.so$' "$work/out")" 2 "loaded rows"
# Files, folders that are not there, and paths from where the user is.
cd "$work" || exit 99
try 3 "$accelctl" plugins --drivers "drivers/good.so:$work/nothing"
mkdir "$work/nothing"
try 0 "$accelctl" plugins --drivers "drivers/good.so:$work/nothing"
is "$(grep -c '^[^ ].* loaded .*/\(good\|cpu\)\.so$' "$work/out")" 2 "loaded rows from a relative path"
finish
