#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The command cache: kept kernels are listed with their sizes and ages, and taken away, those of one driver or all; nothing
# else in the folder is touched, nor what another process is writing. Warming is tested where a driver compiles.
. "$ACCEL_TEST_SRCDIR/tests/accelctl/lib.sh"
kept=$XDG_CACHE_HOME/accel/kernels
digits=0123456789abcdef0123456789abcdef

try 0 "$accelctl" cache list
has "$kept   0 files"
try 0 "$accelctl" cache clear
has "0 files removed"
mkdir -p "$kept"
fill()
{
    rm -rf "$kept"
    mkdir "$kept"
    head -c 3000 /dev/zero >"$kept/one-$digits"
    head -c 500 /dev/zero >"$kept/two-part-$digits"
    touch -d '3 hours ago' "$kept/two-part-$digits"
    : >"$kept/one-$digits.new"
    : >"$kept/one-$digits.txt.old-$digits"
    : >"$kept/notes-0123"
    ln -s "$q8" "$kept/one-ffffffffffffffffffffffffffffffff"
}
fill
try 0 "$accelctl" cache list
grep -qE "^  one-$digits +2.93 KiB  written [0-9]+ s ago$" "$work/out" || fail "no row of a file: $(cat "$work/out")"
grep -qE "^  two-part-$digits +500 B  written 3 h ago$" "$work/out" || fail "no row of an old file"
grep -qE "^  one-$digits.new .* being written" "$work/out" || fail "no row of an unfinished file"
grep -q "notes\|ffffffff" "$work/out" && fail "a file is listed that no driver wrote"
try 0 "$accelctl" cache list --json
"$json" "$work/out" accelctl/cache/1 || fail "the list as JSON"
is "$(value files.0.driver) $(value files.0.bytes) $(value files.1.name)" "one 3000 one-$digits.new" "the first file"

try 2 "$accelctl" cache clear three
one_error "the driver three has no cached files"
try 0 "$accelctl" cache clear two-part
has "1 file removed, 500 B"
is "$(ls "$kept" | wc -l | tr -d ' ')" 5 "files that are left"
if command -v flock >/dev/null; then
    # A writer that is at work.
    try 0 flock "$kept/one-$digits.new" "$accelctl" cache clear one --json
    "$json" "$work/out" accelctl/cache-clear/1 || fail "clearing as JSON"
    is "$(value removed) $(value busy)" "1 1" "files removed and left beside a writer"
fi
fill
try 0 "$accelctl" cache clear
is "$(LC_ALL=C ls "$kept")" "notes-0123
one-$digits.txt.old-$digits
one-ffffffffffffffffffffffffffffffff" "what drivers did not write"
[ -f "$q8" ] || fail "the target of a link has gone"

# Packed weights belong to their driver.
rm -rf "$kept"
mkdir "$kept"
head -c 5000 /dev/zero >"$kept/one-weights-$digits"
head -c 500 /dev/zero >"$kept/one-$digits"
: >"$kept/two-weights-$digits.new"
try 0 "$accelctl" cache list --json
"$json" "$work/out" accelctl/cache/1 || fail "the list as JSON"
is "$(value files.0.driver) $(value files.0.kind)" "one kernels" "kernels in the list"
is "$(value files.1.driver) $(value files.1.kind) $(value files.1.bytes)" "one weights 5000" "packed weights in the list"
is "$(value files.2.driver) $(value files.2.unfinished)" "two true" "unfinished weights in the list"
try 0 "$accelctl" cache clear one
has "2 files removed"

# A run keeps them, the next one uses them, one without a cache neither reads nor writes them, and a damaged file is said.
packing()
{
    rm -f "$work/log"
    "$accelctl" run "$q8" --greedy -q -n 8 --prompt Once --set cpu.layout=panels -v "$@" >"$work/text" 2>"$work/log" ||
        fail "a run with panels: $(cat "$work/log")"
}
rm -rf "$kept"
packing --no-cache
cp "$work/text" "$work/text.first"
[ -e "$kept" ] && fail "a run without a cache keeps something"
packing
if grep -q 'component=packed' "$work/log"; then
    grep -q 'component=packed stored=' "$work/log" || fail "packed weights are not stored: $(grep component=packed "$work/log")"
    cmp -s "$work/text" "$work/text.first" || fail "another text"
    # The list names the model; a file of an earlier version has no name, and a damaged one is listed all the same.
    try 0 "$accelctl" cache list
    grep -qE "^  cpu-weights-[0-9a-f]{32} .* ago, of stories260K-q8_0.gguf$" "$work/out" || { cat "$work/out"; fail "no name of a model"; }
    try 0 "$accelctl" cache list --json
    is "$(value files.0.model)" stories260K-q8_0.gguf "the model of packed weights"
    packed=$(ls "$kept"/cpu-weights-*)
    cp "$packed" "$work/packed"
    printf x | dd of="$packed" bs=1 seek=64 conv=notrunc 2>"$work/log"
    try 0 "$accelctl" cache list
    grep -qE "^  cpu-weights-[0-9a-f]{32} .* ago$" "$work/out" || { cat "$work/out"; fail "a damaged file is not listed without a name"; }
    cp "$work/packed" "$packed"
    packing
    grep -q 'component=packed used=' "$work/log" || fail "packed weights are not used: $(grep component=packed "$work/log")"
    cmp -s "$work/text" "$work/text.first" || fail "another text of kept weights"
    packing --no-cache
    grep -q 'component=packed' "$work/log" && fail "a run without a cache uses packed weights"
    file=$(ls "$kept"/cpu-weights-*)
    printf x | dd of="$file" bs=1 seek=9000 conv=notrunc 2>/dev/null
    packing
    grep -q 'component=packed ignored=.*damaged' "$work/log" || fail "damage is not said: $(grep component=packed "$work/log")"
    cmp -s "$work/text" "$work/text.first" || fail "another text beside a damaged file"
    packing
    grep -q 'component=packed used=' "$work/log" || fail "a damaged file is not written anew"
    # Other packed types are another file, also with the same values of the settings.
    in_rows="avx2:q8_0=rows avxvnni:q8_0=rows avx512:q8_0=rows avx512bf16:q8_0=rows amx:q8_0=rows"
    packing --set "cpu.layout_types=$in_rows"
    grep -q 'component=packed used=' "$work/log" || fail "packed weights are not used: $(grep component=packed "$work/log")"
    packing --set cpu.layout=auto --set "cpu.layout_types=$in_rows"
    grep -q 'component=packed' "$work/log" && fail "weights that stay in rows are cached: $(grep component=packed "$work/log")"
    try 0 "$accelctl" quantize --pure --type q4_0 --role v=q8_0 --role o=q8_0 "$f32" "$work/mixed.gguf"
    sleep 4 # a file that has just been modified is not cached
    for layout in panels auto; do
        for did in stored used; do
            XDG_CACHE_HOME="$work/mixed" "$accelctl" run "$work/mixed.gguf" --device cpu --greedy -q -n 8 --prompt Once --set cpu.layout=$layout \
                --set "cpu.layout_types=$in_rows" -v >"$work/text.$layout" 2>"$work/log" || fail "cpu.layout=$layout: $(cat "$work/log")"
            grep -q "component=packed $did=" "$work/log" || fail "cpu.layout=$layout, not $did: $(grep component=packed "$work/log")"
        done
    done
    rm -rf "$work/mixed" "$work/mixed.gguf"
    # One that shrinks while it is mapped is named, and not the driver that reads it.
    # The text of the run before must be gone before the loop looks for the first token of this one.
    : >"$work/text"
    "$accelctl" run "$q8" --greedy -q -n 1000000 --ignore-end --prompt Once --set cpu.layout=panels --set kv.full=slide \
        >"$work/text" 2>"$work/log" &
    writer=$!
    wait_until $writer has_bytes "$work/text" 1
    truncate -s 4096 "$file"
    wait $writer
    is $? 3 "the status of a run whose packed weights shrank"
    grep -q "$file: the file shrank while it was in use" "$work/log" || fail "a file that shrank: $(cat "$work/log")"
    packing
    packing
    ACCEL_PACKED_BYTES=0 packing
    grep -q 'component=packed used=' "$work/log" || fail "a limit for writing hinders reading"
    try 0 "$accelctl" cache clear cpu
    has "1 file removed"
fi

# Names are printed so that a terminal takes no command from them, and none is left out.
rm -rf "$kept"
mkdir "$kept"
odd=$(printf 'one\033[31m\377-%s' $digits)
: >"$kept/$odd"
try 0 "$accelctl" cache list
has "one?[31m?-$digits"
try 0 "$accelctl" cache list --json
is "$(value files.0.driver)" "$(printf 'one\033[31m?')" "a driver in a name that is no UTF-8"

# A folder behind a link is somebody else's.
mv "$kept" "$work/elsewhere"
ln -s "$work/elsewhere" "$kept"
for action in list clear; do
    try 3 "$accelctl" cache $action
    one_error "$kept is a link"
done
[ -e "$work/elsewhere/$odd" ] || fail "a file behind a link has gone"
rm "$kept"

# What cannot be removed is named, and what can be goes.
fill
if command -v chattr >/dev/null && chattr +i "$kept/one-$digits" 2>/dev/null; then
    try 1 "$accelctl" cache clear
    chattr -i "$kept/one-$digits"
    one_error "$kept/one-$digits: "
    one_error "1 file could not be removed, 2 removed"
    [ -e "$kept/two-part-$digits" ] && fail "a file behind one that stays was left"
fi

# Rows need nothing. What is packed is kept by warming, once.
rm -rf "$kept"
try 0 "$accelctl" cache warm "$q8" --device cpu --set cpu.layout=rows
has "cpu:cpu0: nothing to cache: its kernels are compiled already, and no weight is packed"
try 0 "$accelctl" cache warm "$q8" --set cpu.layout=panels --json
"$json" "$work/out" accelctl/cache-warm/1 || fail "warming as JSON"
if [ "$(value bytes)" != 0 ]; then
    is "$(value bytes)" "$(cat "$kept"/cpu-weights-* | wc -c | tr -d ' ')" "bytes that warming kept"
    packing
    grep -q 'component=packed used=' "$work/log" || fail "what warming kept is not used: $(grep component=packed "$work/log")"
    try 0 "$accelctl" cache warm "$q8" --set cpu.layout=panels
    has "nothing to do: its kernels and packed weights are cached already"
    cp "$q8" "$work/new.gguf"
    touch -d '2037-01-01' "$work/new.gguf" # however long this takes
    try 1 "$accelctl" cache warm "$work/new.gguf" --set cpu.layout=panels
    one_error "changed less than two seconds ago"
    try 0 "$accelctl" cache clear
    try 2 env ACCEL_PACKED_BYTES=some "$accelctl" cache warm "$q8" --set cpu.layout=panels
    one_error 'environment ACCEL_PACKED_BYTES: "some" is no number of bytes'
    try 2 "$accelctl" cache warm "$q8" --no-cache
    one_error "--no-cache leaves nothing to store"
    try 2 env ACCEL_PACKED_BYTES=1 "$accelctl" cache warm "$q8" --set cpu.layout=panels
    one_error "environment ACCEL_PACKED_BYTES: "
    is "$(ls "$kept")" "" "what is left of weights over a limit"
    # A disk, a limit of sizes or a folder that takes no file is no fault of the model, and leaves nothing.
    (
        ulimit -f 100
        try 1 "$accelctl" cache warm "$q8" --set cpu.layout=panels
        one_error "$kept/cpu-weights-"
        grep -q "remedy: files of this process may have [0-9]* bytes (ulimit -f)" "$work/err" || fail "no remedy"
    )
    is "$(ls "$kept")" "" "what is left of weights over the limit of sizes"
    : >"$work/file"
    try 1 env XDG_CACHE_HOME="$work/file" "$accelctl" cache warm "$q8" --set cpu.layout=panels
    one_error "$work/file/accel/kernels: cannot make the folder"
fi
try 4 "$accelctl" cache warm "$q8" --device nothing
try 2 "$accelctl" cache clear --device cpu
one_error "options of a model's plan, as --device, --client and --set, are for cache warm"
try 2 "$accelctl" cache clean
one_error "did you mean 'clear'?"
# The model, context and threads as run takes them, also before the action.
try 0 "$accelctl" cache warm -m "$q8" -c 64 -t 1
try 0 "$accelctl" cache -m "$q8" warm
try 2 "$accelctl" cache list -c 64
one_error "are for cache warm"
try 3 env -u XDG_CACHE_HOME -u HOME "$accelctl" cache list
one_error "neither XDG_CACHE_HOME nor HOME"
finish
