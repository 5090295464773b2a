#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# accel-conform: the cpu driver and the template pass, mocks fail with the name of what they do, known failures are
# strict. Certificates are made in faults.sh and guide.sh.
. "$ACCEL_TEST_SRCDIR/tests/accelctl/lib.sh"
# A driver that crashes must end its process by the signal, under sanitizers too.
crash_by_signal
kit=$ACCEL_TEST_BUILDDIR/.libs/accel-conform
cpu=$ACCEL_TEST_BUILDDIR/plugins/cpu/.libs/cpu.so
four=$ACCEL_TEST_BUILDDIR/tests/drivers/.libs/four.so
mocks=$ACCEL_TEST_BUILDDIR/tests/mock/.libs

has()
{
    checks=$((checks + 1))
    grep -q -- "$1" "$work/out" "$work/err" || { head -c 3000 "$work/out" "$work/err"; fail "nothing says: $1"; }
}

try 0 "$kit" --help
for option in $(sed -n 's/^  \(--[a-z]*\).*/\1/p' "$work/out"); do
    sed 's/\\-/-/g' "$src/sdk/conform/accel-conform.1" | grep -q -- "$option" || fail "the man page has no $option"
    for shell in accel-conform _accel-conform; do
        grep -q -e "$option\b" "$src/doc/completion/$shell" || fail "the completion $shell has no $option"
    done
done
if command -v bash >/dev/null; then
    # shellcheck disable=SC2016 # for the other shell
    is "$(bash -c '. "$1"; COMP_WORDS=("$2" --filter softmax); COMP_CWORD=2; _accel_conform; echo "${COMPREPLY[*]}"' - \
        "$src/doc/completion/accel-conform" "$kit" | tr ' ' '\n' | grep -vc '^softmax/')" 0 "tests that bash offers"
fi
try 2 "$kit"
try 2 "$kit" "$cpu" --filter nothing --seed 1
has "no test is called nothing"
try 2 "$kit" "$cpu" --filter 'add/*' --device cpu7 --seed 1
has "driver cpu has no device cpu7 here; it has cpu0"
try 0 "$kit" "$cpu" --filter 'add/*' --device cpu:cpu0 --rounds 0 --seed 1
if command -v python3 >/dev/null; then
    try 0 "$kit" "$cpu" --filter 'add/*' --rounds 0 --seed 1 --json
    mv "$work/out" "$work/report"
    try 0 python3 "$src/tests/conform/certificates.py" 0123abc "$work/report"
    has '^| `cpu` | .* | 0 | 0 | 0 | [0-9]* | 1 | 0123abc |$'
    has '^| add | [0-9]* | all |$'
fi
try 2 "$kit" "$cpu" --seed x
try 2 "$kit" "$cpu" --rounds 1000001
has "no number up to 1000000: 1000001"
mkfifo "$work/pipe"
try 2 timeout 20 "$kit" "$work/pipe"
try 2 timeout 20 "$kit" "$cpu" --known "$work/pipe"
has "known is no file: .*pipe"
# A report that could not be written is no success.
if [ -e /dev/full ]; then
    for option in --list "--filter add/* --cases 1" "--filter add/* --cases 1 --json" --help; do
        # shellcheck disable=SC2086 # several words
        try 2 sh -fc "exec \"\$0\" $option >/dev/full" "$kit" "$cpu"
    done
fi
# Each option reaches the driver, the first as well as the last, and there is an end to them.
try 1 "$kit" "$cpu" --filter 'add/*' --seed 1 --set none=1 --set isa=scalar
has "cpu.none"
try 1 "$kit" "$cpu" --filter 'add/*' --seed 1 --set isa=scalar --set none=1
has "cpu.none"
try 2 "$kit" "$cpu" --set isa=scalar --set isa=scalar --set isa=scalar --set isa=scalar --set isa=scalar
try 2 "$kit" "$work/none.so"
try 0 "$kit" --list
is "$(grep -c '^matmul/q4_0$' "$work/out")" 1 "names of tests"

# Good drivers.
for group in 'file/*' 'life/*' 'layout/*' 'memory/*' 'slot/*' 'options/*' 'refused/*' 'manners/*' 'threads/*' 'timeline/*' 'whole/*' '*/rows' 'add/*' \
    'matmul/q4_k' 'matmul/f32' 'embed/q2_g64a' 'attention/f16' 'cache_write/q8_g64' 'rotary/*' 'gather/*' 'gate/silu'; do
    try 0 "$kit" "$cpu" --filter "$group" --rounds 1 --seed 11
    has "no failures"
done
# The same with weights that the driver packs into memory of its own, where it has kernels for that.
for group in 'life/*' 'layout/*' 'memory/*' 'slot/*' 'threads/*' 'whole/*' 'matmul/q4_k' 'matmul/q8_0' 'matmul/q4_g128' 'embed/q4_0'; do
    try 0 "$kit" "$cpu" --filter "$group" --rounds 1 --seed 11 --set layout=panels
    has "no failures"
done
for group in 'life/*' 'memory/*' 'matmul/q[48]_0' 'add/*' 'softmax/*'; do
    try 0 "$kit" "$four" --filter "$group" --rounds 1 --seed 12
done

# Bad ones: each ends with its name and goes no further than its child.
try 1 "$kit" "$mocks/abort_in_query.so" --filter 'life/*'
has "SIGABRT\|signal 6"
try 1 "$kit" "$mocks/exit_in_attach.so" --filter 'life/*'
has "ended the process with status"
try 1 "$kit" "$mocks/crash_in_constructor.so" --filter 'life/*'
has "signal"
try 1 "$kit" "$mocks/hang_in_constructor.so" --filter 'life/*' --deadline 1
has "did not end within 1 s"
try 1 "$kit" "$mocks/prints.so" --filter 'life/*'
has "bytes to the standard output"

# Drivers that run well and leave something behind in their process.
try 1 "$kit" "$mocks/spoils_threads.so" --filter 'manners/*' --rounds 1 --seed 3
has "attach: 1 threads were started, and effects of the note do not say so"
try 1 "$kit" "$mocks/spoils_descriptors.so" --filter 'manners/*' --rounds 1 --seed 3
has "descriptors are open after them"
try 0 "$kit" "$mocks/spoils_threads.so" --filter 'manners/descriptors' --rounds 1 --seed 3
try 0 "$kit" "$mocks/spoils_descriptors.so" --filter 'add/*' --rounds 1 --seed 3

# A driver reports its own allocations to the host; one that does not has a row with its reason.
try 0 "$kit" "$cpu" --filter 'memory/account' --seed 3
has "the driver leaves buffers to the core, which counts them"
try 0 "$kit" "$mocks/counted.so" --filter 'memory/account' --seed 3
is "$(grep -c 'no .account' "$work/out")" 0 "rows of a driver that counts"
grep -q "^memory  *1  *0  *0 " "$work/out" || { cat "$work/out"; fail "a driver that counts does not pass"; }
try 0 "$kit" "$mocks/uncounted.so" --filter 'memory/account' --seed 3
has "no .account.: buffers of [0-9]* bytes were made, and 0 were reported to the host"

# Failures that are known.
printf 'accel-conformance: 1\nunsupported:\n  - test: gate/*\n    because: not written yet\n' >"$work/known.yaml"
try 0 "$kit" "$four" --filter 'gate/silu' --known "$work/known.yaml"
printf 'accel-conformance: 1\nexpected:\n  - test: add/broadcast\n    because: rounding\n' >"$work/known.yaml"
try 1 "$kit" "$four" --filter 'add/*' --known "$work/known.yaml"
has "it passed, and conformance.yaml lists it as failing"
printf 'accel-conformance: 1\nexpected:\n  - test: matmul/q4_x\n    because: rounding\n' >"$work/known.yaml"
try 2 "$kit" "$four" --filter 'add/*' --known "$work/known.yaml"
has "no test is called matmul/q4_x; did you mean matmul/q4_"
printf 'accel-conformance: 1\nwrong: 1\n' >"$work/known.yaml"
try 2 "$kit" "$four" --known "$work/known.yaml"
has "unknown key wrong"

# A certificate needs all tests.
try 2 "$kit" "$four" --filter 'add/*' --certificate "$work/four.json"
has "a certificate needs all tests"
[ -s "$work/out" ] && fail "tests were run before the certificate was refused"
try 2 "$kit" "$four" --cases 1 --certificate "$work/four.json"
try 0 "$kit" "$four" --filter 'add/*' --cases 2 --seed 4
is "$(sed -n 's/^in all *[0-9]* *[0-9]* *[0-9]* *[0-9]* *[0-9]* *\([0-9]*\) .*/\1/p' "$work/out")" 2 "cases that were run"
try 2 "$kit" "$four" --from 2 --certificate "$work/four.json"
try 0 "$kit" "$four" --filter 'add/*' --from 3 --cases 2 --seed 4
is "$(sed -n 's/^in all *[0-9]* *[0-9]* *[0-9]* *[0-9]* *[0-9]* *\([0-9]*\) .*/\1/p' "$work/out")" 2 "cases from the third"
try 0 "$kit" "$four" --filter 'add/*' --from 1000 --seed 4
has "it has fewer than 1000 cases"
finish
