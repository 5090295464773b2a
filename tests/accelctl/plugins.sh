#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Misbehaving drivers: each is one refused row of accelctl plugins with its reason, and a model still runs.
. "$ACCEL_TEST_SRCDIR/tests/accelctl/lib.sh"

# In a build with sanitizers the probes must die as others do, by the signal.
crash_by_signal
mocks=$ACCEL_TEST_BUILDDIR/tests/mock/.libs
drivers=$work/drivers
mkdir "$drivers"
chmod 755 "$work" "$drivers"
# What each does wrong: file, code, signal of its probe (0: none), words of the reason.
cat >"$work/sins" <<'SINS'
crash_in_constructor ACCEL_E_INTERNAL 11 crashes in load: its probe ended with SIGSEGV
abort_in_query ACCEL_E_INTERNAL 6 crashes in query: its probe ended with SIGABRT
exit_in_attach ACCEL_E_INTERNAL 0 ends the process in attach, with the exit status 0
crash_in_enumerate ACCEL_E_INTERNAL 8 crashes in enumerate: its probe ended with SIGFPE
hang_in_constructor ACCEL_E_TIMEOUT 0 hangs in load: its probe was ended after 5000 ms
wrong_abi ACCEL_E_ABI 0 made for the driver ABI 9.7
short_structs ACCEL_E_INVALID 0 accel_facts.size is 48
short_table ACCEL_E_INVALID 0 struct accel_instance_table has 16 bytes
garbage_count ACCEL_E_LIMIT 0 accel_facts.heap_count 4026531840
garbage_number ACCEL_E_INVALID 0 has a default that is not finite
lies_about_memory ACCEL_E_LIMIT 0 accel_heap.bytes 18446744073709551615
leaks ACCEL_E_INVALID 0 leaks: detach leaves 3 blocks
prints ACCEL_E_INVALID 0 writes to standard output
missing_symbol ACCEL_E_NOT_FOUND 0 vendor_function_that_is_nowhere
no_note ACCEL_E_INVALID 0 no .note.accel
no_entry ACCEL_E_INVALID 0 does not export accel_driver_query
exec_stack ACCEL_E_INVALID 0 executable stack
writable ACCEL_E_DENIED 0 it is writable by every user
text ACCEL_E_CORRUPT 0 text.so
SINS
while read -r name rest; do
    case $name in text | writable) continue ;; esac
    cp "$mocks/$name.so" "$drivers/" || exit 99
done <"$work/sins"
sins=$(wc -l <"$work/sins")
cp "$mocks/good.so" "$drivers/writable.so"
chmod 666 "$drivers/writable.so"
echo "no ELF" >"$drivers/text.so"

# A folder whose name is not UTF-8: the document has a question mark, and every row. A table of options that names its
# rows with the driver's name.
odd=$work/$(printf 'odd\377')
mkdir "$odd"
cp "$mocks/good.so" "$mocks/no_entry.so" "$odd/"
try 0 "$accelctl" plugins --drivers "$odd" --json
grep -qF "\"path\": \"$work/odd?/no_entry.so\"" "$work/out" || { cat "$work/out"; fail "no row of a refused driver"; }
grep -qF '"name": "good.level"' "$work/out" || { cat "$work/out"; fail "no option good.level"; }
try 0 "$accelctl" devices --drivers "$odd" --all --json
grep -qF "\"path\": \"$work/odd?/no_entry.so\"" "$work/out" || { cat "$work/out"; fail "devices: no refused driver"; }

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
    name=$(basename "$path" .so)
    if [ "${path%/*}" = "$drivers" ]; then
        read -r _ code signal words <<SIN
$(grep "^$name " "$work/sins")
SIN
        is "$(value plugins.$row.code)" "$code" "code of $name"
        is "$(value plugins.$row.signal)" "$signal" "signal of $name"
        case $text in *"$words"*) ;; *) fail "$name: '$text' has no '$words'" ;; esac
    fi
    row=$((row + 1))
done
is $refused "$sins" "refused rows"

# The same as text: a row of each, and reasons below it. Now the results of probes are known.
try 0 "$accelctl" plugins --drivers "$drivers"
is "$(grep '^[^ ].* refused ' "$work/out" | grep -vc '^\(opencl\|vulkan\) ')" "$sins" "refused rows as text"
is "$(grep -c '^cpu .* loaded ' "$work/out")" 1 "loaded rows as text"
try 0 "$accelctl" devices --drivers "$drivers"
has "cpu:cpu0"
try 0 "$accelctl" plan "$q8" --drivers "$drivers"
has "cpu0"
# Why a driver is not used, with what to do about it: where devices are listed, by doctor, and in the error of a plan.
crash="crashes in enumerate: its probe ended with SIGFPE"
remedy="remedy: update the driver and the libraries of the device's vendor"
for command in "devices --all" doctor plugins; do
    # shellcheck disable=SC2086 # the command and its option
    "$accelctl" $command --drivers "$drivers" >"$work/lines" 2>"$work/err" || [ "$command" = doctor ] || fail "status of $command"
    tr -s ' \n' ' ' <"$work/lines" >"$work/out"
    has "$crash"
    has "$remedy"
    has "remedy: install what is missing, or another build of this driver"
done
try 0 "$accelctl" devices --drivers "$drivers" --json
is "$(grep -c '"path": "'"$drivers" "$work/out")" "$sins" "refused drivers in JSON"
try 4 "$accelctl" plan "$q8" --drivers "$drivers" --device crash-in-enumerate
one_error "$crash"
grep -qF "  $remedy" "$work/err" || { cat "$work/err"; fail "a plan has another remedy than the driver's"; }
# A device of a refused driver is not there, by name.
try 4 "$accelctl" run "$q8" --drivers "$drivers" --device crash-in-enumerate --greedy -q -n 5
one_error "crashes in enumerate: its probe ended with SIGFPE"
try 0 "$accelctl" run "$q8" --drivers "$drivers" --greedy -q -n 5
is "$(cat "$work/out")" "Once upon a time," "text beside bad drivers"

# The plan and the run name each driver that is refused, since without it another device could have been chosen; where
# the device was named, that is not so.
try 0 "$accelctl" plan "$q8" --drivers "$drivers"
tr -s ' \n' ' ' <"$work/out" >"$work/lines"
grep -qF "! driver crash-in-enumerate is refused: $crash" "$work/lines" || fail "a plan does not name what is refused"
try 0 "$accelctl" run "$q8" --drivers "$drivers" --greedy -q -n 5
is "$(cat "$work/err")" "" "notes with -q"
try 5 "$accelctl" run "$q8" --drivers "$drivers" --greedy -q -n 5 --set memory.budget=1MiB
is "$(grep -c '^note: driver ' "$work/err")" "$sins" "notes with -q of a run that is refused"
if ! sanitized; then
    # A limit of memory is the likelier cause: it comes first.
    try 0 sh -c 'ulimit -v 40000000; exec "$@"' sh "$accelctl" run "$q8" --drivers "$drivers" --greedy -n 5
    grep -q "^note: driver crash-in-enumerate .*(ulimit -v), .*: raise the limit; else update the driver" "$work/err" ||
        { cat "$work/err"; fail "a note does not name the limit of memory"; }
fi
try 0 "$accelctl" run "$q8" --drivers "$drivers" --greedy -n 5
grep -qF "note: driver crash-in-enumerate is refused: $crash (signal 8); update the driver" "$work/err" ||
    { cat "$work/err"; fail "a run does not name what is refused"; }
for device in cpu cpu:cpu0 cpu,crash-in-enumerate; do
    try 0 "$accelctl" run "$q8" --drivers "$drivers" --greedy -n 5 --device "$device"
    is "$(grep -c '^note: driver ' "$work/err")" 0 "drivers that a run on $device names"
done
try 0 "$accelctl" run "$q8" --drivers "$drivers" --greedy -n 5 --device gpu,crash-in-enumerate:x,cpu --json
is "$(grep -c '^note: driver ' "$work/err")" "$sins" "drivers that may have a GPU"
try 0 "$accelctl" run "$q8" --drivers "$drivers" --greedy -n 5 --device crash-in-enumerate:x,cpu
is "$(grep -c '^note: driver ' "$work/err")" 1 "drivers that were meant first"
try 0 "$accelctl" plan "$q8" --drivers "$drivers" --json
is "$(grep -c '"text": "driver .* is refused: ' "$work/out")" "$sins" "notes of refused drivers in JSON"

# No memory while a driver is loaded: in the probe, and in the process that has probed it. What was so once is not kept,
# and what is so for a moment is tried again.
if ! sanitized; then
    LD_PRELOAD=$ACCEL_TEST_BUILDDIR/tests/mock/.libs/short_of_memory.so
    export LD_PRELOAD
    MOCK_SHORT=/cpu.so
    export MOCK_SHORT
    # Another driver, which is as good.
    mkdir "$work/second"
    cp "$ACCEL_TEST_BUILDDIR/plugins/cpu/.libs/cpu.so" "$work/under.so"
    cp "$mocks/hostile.so" "$work/second/"
    chmod 755 "$work/second"
    MOCK_UNDER=$work/under.so
    export MOCK_UNDER
    for program in accel-probe accelctl; do
        MOCK_SHORT_IN=$program try 0 "$accelctl" run "$q8" --drivers "$work/second" --greedy -n 5
        is "$(sed -n 's/note: driver cpu is refused: .*cpu.so: //p' "$work/err")" "no memory to load it and its libraries; \
free memory, or let the process have more (ulimit -v)" "words of a run elsewhere"
        MOCK_SHORT_IN=$program try 0 "$accelctl" plan "$q8" --drivers "$work/second"
        has "on second:cpu0"
        has "! driver cpu is refused: "
        has "remedy: free memory, or let the process have more (ulimit -v)"
        MOCK_SHORT_IN=$program try 4 "$accelctl" run "$q8" --drivers "$work/second" --device cpu:cpu0 --greedy -q -n 5
        one_error "cpu.so: no memory to load it and its libraries"
        try 0 "$accelctl" run "$q8" --drivers "$work/second" --greedy -q -n 5
        is "$(cat "$work/out" "$work/err")" "Once upon a time," "text where there is memory again"
        try 0 "$accelctl" plan "$q8" --drivers "$work/second"
        has "on cpu:cpu0"
    done
    MOCK_SHORT_IN=accelctl MOCK_SHORT_TIMES=1 try 0 "$accelctl" run "$q8" --greedy -q -n 5
    is "$(cat "$work/out" "$work/err")" "Once upon a time," "text where memory is short for a moment"
    unset LD_PRELOAD MOCK_SHORT MOCK_UNDER
fi

# A driver that enumerates in several threads, and one of them goes on after its end.
rm "$drivers"/*
cp "$mocks/many_threads.so" "$drivers/"
for late in '' 1; do
    [ -z "$late" ] || export MOCK_LATE=1
    for time in 1 2; do
        try 0 "$accelctl" devices --drivers "$drivers" --no-cache
        is "$(grep -c '^many-threads:mock' "$work/out")" 801 "devices of many threads, $time${late:+ and late}"
        [ $failed = 0 ] || grep -hv '^many-threads:mock\|^   ' "$work/out" "$work/err"
    done
done
unset MOCK_LATE

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
# A file that is named is looked at whatever it is called: it is loaded, or refused with its reason, and a run says so.
mkdir "$work/named"
cp "$mocks/good.so" "$work/named/good.so.1"
cp "$mocks/good.so" "$work/named/driver"
cp "$src/README.md" "$work/named/text.so.6"
for file in good.so.1 driver; do
    try 0 "$accelctl" plugins --drivers "$work/named/$file"
    is "$(grep -c "^[^ ].* loaded .*/$file\$" "$work/out")" 1 "loaded rows of $file"
    is "$(wc -c <"$work/err")" 0 "what is said of $file beside its row"
done
ACCEL_DRIVER_PATH=$work/named/text.so.6 try 0 "$accelctl" plugins
is "$(grep -c '^[^ ].* refused .*/text.so.6$' "$work/out")" 1 "refused rows of a file with another name"
has "text.so.6: not an ELF file"
has "remedy: name or install a driver that was built for this machine"
try 0 "$accelctl" run "$q8" --drivers "$work/named/text.so.6" --greedy -q -n 5
is "$(cat "$work/out")" "Once upon a time," "text beside a named driver that is none"
grep -q "^warn: the driver $work/named/text.so.6 that was named is refused: text.so.6: not an ELF file" "$work/err" ||
    { cat "$work/err"; fail "a run does not say that the driver that was named is refused"; }
# A folder lists files of drivers alone, and may not be there yet; what is named in a way that cannot work is an error.
ACCEL_DRIVER_PATH=$work/named:$work/not-yet try 0 "$accelctl" plugins
grep -qx "warn: environment ACCEL_DRIVER_PATH: no driver is searched in $work/not-yet: No such file or directory" "$work/err" ||
    fail "a folder that is missing is not named: $(cat "$work/err")"
is "$(grep -c "$work/named" "$work/out")" 0 "rows of a folder without files of drivers"
for path in "$work/lost.so" "$work/named:$work/lost.so.1" named; do
    ACCEL_DRIVER_PATH=$path try 2 "$accelctl" plugins
    one_error "environment ACCEL_DRIVER_PATH ${path#*:}: "
    grep -q "^  remedy: name files and folders that are there" "$work/err" || fail "no remedy for $path"
done
for path in "$work/none" accel-probe; do
    ACCEL_PROBE=$path try 2 "$accelctl" plugins
    one_error "environment ACCEL_PROBE $path: "
done
finish
