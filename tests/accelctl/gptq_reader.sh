#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A folder in the layout of GPTQ gives the same values in an unmodified reader of that layout. ACCEL_PYTHON: the
# interpreter that has it (default python3).
. "$ACCEL_TEST_SRCDIR/tests/accelctl/lib.sh"
python=${ACCEL_PYTHON:-python3}
reader=$src/tests/accelctl/gptq_reader.py

command -v "$python" >/dev/null 2>&1 || { echo "skipped: no $python"; exit 77; }
"$python" "$reader" make "$work/model" >"$work/out" 2>&1
case $? in
0) ;;
77)
    echo "skipped: $(tail -n 1 "$work/out")"
    exit 77
    ;;
*)
    tail -n 5 "$work/out"
    exit 99
    ;;
esac

folders=
for type in q4_g128 q4_g32a q3_g64 q3_g128a q2_g64 q2_g32a q8_g128 q8_g32a q4_row; do
    folder=$work/$type
    try 0 "$accelctl" quantize --type "$type" "$work/model" "$folder"
    grep -q '"quant_method": "gptq"' "$folder/config.json" || fail "$type: another layout than that of GPTQ"
    try 0 "$ACCEL_TEST_BUILDDIR/tests/accelctl/decoded" "$folder" "$folder.safetensors"
    folders="$folders $folder"
done
# shellcheck disable=SC2086 # a list
try 0 "$python" "$reader" check $folders
grep gptqmodel "$work/out"
finish
