#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the kit finds of a driver with one fault and how it says it: leaks, noise, a crash in a slot, a wrong number; and
# that a build elsewhere takes nothing from the certificate of another one.
. "$ACCEL_TEST_SRCDIR/tests/accelctl/lib.sh"
crash_by_signal
kit=$ACCEL_TEST_BUILDDIR/.libs/accel-conform
faulty=$ACCEL_TEST_BUILDDIR/tests/drivers/.libs/faulty.so

has()
{
    checks=$((checks + 1))
    grep -q -- "$1" "$work/out" "$work/err" || { head -c 3000 "$work/out" "$work/err"; fail "nothing says: $1"; }
}

# fault NAME STATUS FILTER [OPTIONS]: the lines that are wrapped are one again.
fault()
{
    name=$1
    status=$2
    filter=$3
    shift 3
    try "$status" env ACCEL_TEST_FAULT="$name" "$kit" "$faulty" --filter "$filter" --seed 1 --rounds 0 "$@"
    sed ':a;N;$!ba;s/\n       \([^a ]\)/ \1/g' "$work/out" >"$work/lines" && mv "$work/lines" "$work/out"
}

# Leaks, by whatever way and however seldom a slot is called; without a fault there are none.
fault none 0 'leaks/*'
if grep -q "does not tell what it holds" "$work/out"; then
    echo "skipped: leaks, this build's allocator does not tell what it holds"
else
    fault none 0 'attention/f16'
    fault lose-open 1 'leaks/*'
    has "FAILED leaks/open: .*each open and close loses 10[0-9][0-9] bytes or more of malloc"
    has "FAILED leaks/life: "
    fault lose-host 1 'leaks/*'
    has "FAILED leaks/open: .*each open and close loses 1 blocks of the host's memory"
    fault lose-map 1 'leaks/open'
    has "each open and close leaves 65536 bytes or more mapped"
    fault lose-attention 1 'attention/f16'
    has "each step loses 10[0-9]* bytes or more of malloc"
fi

# A number that is wrong: by how much, and how much would do. The command repeats all that counts.
fault wrong-add 1 'add/*' --deadline 100 --cases 1
has "is [-0-9.e]* and should be [-0-9.e]*; it may be [-0-9.e]* off, 1e-05 of the largest element"
has "again: .* --rounds 0 --deadline 100 --cases 1$"
# Lines that a vendor prints are one line here.
fault hello 1 'life/busy'
has 'it wrote [0-9]* bytes to the standard output: "hello from the vendor, line 0" and more lines'
is "$(grep -c 'hello' "$work/out" "$work/err" | awk -F: '{n += $2} END {print n}')" 1 "lines of noise"
# A group is one row, and reasons keep to the width of a page.
try 0 "$kit" "$faulty" --filter 'a*' --cases 1 --seed 1
is "$(grep -c '^attention  ' "$work/out")" 1 "rows of the group attention"
awk 'length($0) > 110 { print; bad = 1 } END { exit bad }' "$work/out" || fail "long lines"
# Several tests at a time end with the same report.
for jobs in 1 3; do
    fault wrong-add 1 'a*' --cases 1 --json --jobs "$jobs"
    sed '/"seconds": /d' "$work/out" >"$work/report$jobs"
done
cmp "$work/report1" "$work/report3" || fail "with --jobs 3 the report is another"
try 2 "$kit" "$faulty" --jobs 0
grep -qF "accel-conform: --jobs takes at least 1, and not 0" "$work/err" || fail "--jobs 0: $(cat "$work/err")"
checks=$((checks + 1))
# A crash has the name of its slot, also in JSON; what is no driver at all is another status.
fault crash-enumerate 1 'life/*'
has "in enumerate: ended by signal"
try 1 env ACCEL_TEST_FAULT=crash-enumerate "$kit" "$faulty" --seed 1 --json
cp "$work/out" "$work/crash"
is "$(value failed)" 1 "failed tests in JSON"
case $(value tests.0.text) in "in enumerate: "*) ;; *) fail "the crash in JSON" ;; esac
try 2 "$kit" "$src/sdk/template/driver.c"
has "no shared object, which a driver is: .*driver.c"

# Names that are no tests, and rows that lack something.
printf 'accel-conformance: 1\nexpected:\n  - test: matmul/zz\n    because: x\n' >"$work/known.yaml"
try 2 "$kit" "$faulty" --known "$work/known.yaml"
has "no test is called matmul/zz; its group has f32, "
printf 'accel-conformance: 1\nexpected:\n  - test: add/broadcast\n' >"$work/known.yaml"
try 2 "$kit" "$faulty" --known "$work/known.yaml"
has "the row of add/broadcast has no because"

# Certificates, which need all tests: where no device opens, these take seconds. Two builds of one driver have one each, and
# each shows its own; one that was changed is not trusted. Of a driver that passes guide.sh has one.
mkdir "$work/one" "$work/other"
cp "$faulty" "$work/one/faulty.so"
cp "$faulty" "$work/other/faulty.so"
certificates=$XDG_CACHE_HOME/accel/certificates
try 1 env ACCEL_TEST_FAULT=refuse-open "$kit" "$work/one/faulty.so" --rounds 0 --seed 5
has "^certificate $certificates/faulty-template0-[0-9a-f]*.json"
at=$(readelf -SW "$faulty" | sed -n 's/.*\.note\.gnu\.build-id *NOTE *[0-9a-f]* \([0-9a-f]*\) .*/\1/p')
if [ -n "$at" ]; then
    printf 'another' | dd of="$work/other/faulty.so" bs=1 seek=$((0x$at + 16)) conv=notrunc 2>/dev/null
    try 1 env ACCEL_TEST_FAULT=refuse-open "$kit" "$work/other/faulty.so" --rounds 0 --seed 6
    try 0 "$accelctl" plugins --drivers "$work/other/faulty.so"
    has "certificate for template0: .* [1-9][0-9]* failed, .*seed 6"
    is "$(grep -c 'certificate for template0' "$work/out")" 1 "certificates of the other build"
    rm "$certificates"/faulty-template0-616e6f746865*.json
    try 0 "$accelctl" plugins --drivers "$work/other/faulty.so"
    has "seed 5, .*stale: made for another build of the file"
else
    echo "skipped: no readelf, or no build id"
fi
try 0 "$accelctl" plugins --drivers "$work/one/faulty.so"
has "certificate for template0: .* [1-9][0-9]* failed, .*seed 5"
sed -i 's/"kit": "[^"]*"/"kit": "0.0.1"/' "$certificates"/faulty-template0-*.json
try 0 "$accelctl" plugins --drivers "$work/one/faulty.so"
has "damaged: it was changed after it was written"
rm "$certificates"/faulty-template0-*.json
try 0 "$accelctl" plugins --drivers "$work/one/faulty.so"
has "no certificate"
finish
