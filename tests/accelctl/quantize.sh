#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Files with other types through the command, and what it says of them.
. "$ACCEL_TEST_SRCDIR/tests/accelctl/lib.sh"

out=$work/model.gguf
try 0 "$accelctl" quantize --type q8_0 "$f32" "$out"
has "Q8_0"
has "bits per weight"
try 0 "$accelctl" plan --json "$out"
case $(value model.types) in Q8_0*) ;; *) fail "types of the new file: $(value model.types)" ;; esac

# A file in the types that it has is the same model.
try 0 "$accelctl" quantize --type f32 "$f32" "$out"
# shellcheck disable=SC2086
try 0 "$accelctl" run "$out" --greedy --json -n 40 $exact --prompt "Once"
ids=$(value ids)
# shellcheck disable=SC2086
try 0 "$accelctl" run "$f32" --greedy --json -n 40 $exact --prompt "Once"
is "$(value ids)" "$ids" "ids of the same weights in a new file"

rm -f "$out"
try 0 "$accelctl" quantize --dry-run --tensors "$f32" "$out"
has "rows are no whole number of blocks"
has "no matrix"
[ ! -e "$out" ] && [ ! -e "$out.part" ] || fail "--dry-run wrote something"
try 0 "$accelctl" quantize --json --type f16 --keep 'token*' "$f32" "$out"
is "$(value tensors.0.reason)" "kept as asked" "reason of a kept tensor"
is "$(value bytes)" "$(wc -c <"$out" | tr -d ' ')" "bytes of the file"

try 3 "$accelctl" quantize --type q9 "$f32" "$out"
one_error '"q9"'
try 3 "$accelctl" quantize "$models/hf" "$out"
one_error "q4_g128"
try 0 "$accelctl" quantize --type q4_g32 "$models/hf" "$work/packed"
has "q4_g32   20 tensors"
try 0 "$accelctl" run "$work/packed" --greedy -n 8 -p "Once upon a time"
has "Once upon a time, there was"
try 2 "$accelctl" quantize "$f32"
one_error "wants an argument"
cp "$f32" "$work/same.gguf"
try 2 "$accelctl" quantize "$work/same.gguf" "$work/same.gguf"
one_error "is the file that is read"

# A full disk, as far as a limit on files is one: an error with a name, and no file of that name.
try 1 sh -c "ulimit -f 200; exec '$accelctl' quantize --type f32 '$f32' '$work/large.gguf'"
[ ! -e "$work/large.gguf" ] || fail "a file that could not be written has its name"
finish
