#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# bench: what it measures and how it is told. Structure alone: no time is judged.
. "$ACCEL_TEST_SRCDIR/tests/accelctl/lib.sh"
theirs=$src/tests/fixtures/llama-bench
quick="--rounds 2 --prompt 16 --tokens 8"

# rows: the names of all rows of the document, one a line
rows()
{
    "$json" "$work/out" - "rows.*.name"
}

# positive PATH...: numbers of the document above 0
positive()
{
    for path in "$@"; do
        checks=$((checks + 1))
        value "$path" | awk '{ exit !($1 > 0) }' || fail "$path is $(value "$path")"
    done
}

# Subjects may stand behind the model.
# shellcheck disable=SC2086
try 0 "$accelctl" bench prefill "$q8" decode $quick --depth 0,32 --json
is "$(value schema)" accelctl/bench/1 "schema"
is "$(rows | tr '\n' ';')" "prefill 16;prefill 16 at 32;decode 8;decode 8 at 32;" "rows"
is "$(value rows.0.unit)" tok/s "unit"
is "$(value rows.1.depth) $(value rows.1.prompt) $(value rows.1.tokens)" "32 16 0" "what a row is told by"
is "$(value rows.0.time.count)" 2 "rounds"
positive rows.0.value rows.0.seconds.0 rows.0.seconds.1 rows.0.time.median rows.0.bytes rows.0.limit_seconds \
    rows.0.fraction rows.3.value rows.3.fraction machine.memory_read.most machine.memory_copy.most machine.threads \
    machine.sequences.0.rate.most noise.seconds facts.model_bytes
case $(value rows.0.bound) in bytes | operations) ;; *) fail "bound by $(value rows.0.bound)" ;; esac
cp "$work/out" "$work/own.json"

# What a step costs does not hang on time: weights once, in the file's types, and a deeper cache has more to read.
"$json" "$work/own.json" - rows.2.bytes >"$work/shallow"
"$json" "$work/own.json" - rows.3.bytes >"$work/deep"
checks=$((checks + 1))
awk 'NR == FNR { a = $1; next } { exit !($1 > a && a > 8 * 200000 && a < 8 * 600000) }' "$work/shallow" "$work/deep" ||
    fail "bytes of 8 tokens: $(cat "$work/shallow"), at a depth $(cat "$work/deep")"

# A word that is nearly a subject is no model.
try 2 "$accelctl" bench dcode "$q8"
grep -q "did you mean decode?" "$work/err" || fail "a subject with a letter less: $(cat "$work/err")"

# Another run beside.
# shellcheck disable=SC2086
try 0 "$accelctl" bench prefill decode $quick --depth 0,32 --json --against "$theirs/stories260K.jsonl" "$q8"
is "$(value against.program)" llama-bench "program of JSON in lines"
is "$(rows | tr '\n' ';')" "prefill 16;prefill 16 at 32;decode 8;decode 8 at 32;" "rows beside JSON in lines"
positive rows.0.peer.median rows.0.ratio rows.3.peer.median rows.3.ratio
is "$(value rows.2.peer.count)" 3 "rounds of JSON in lines"
# shellcheck disable=SC2086
try 0 "$accelctl" bench prefill decode $quick --against "$theirs/stories260K.json" --against "$theirs/stories260K.jsonl" "$q8"
has "llama.cpp  ratio"
grep -q '^decode 8  *[0-9.]* .* tok/s .* [0-9.]* *[0-9.]*$' "$work/out" || fail "no row of decode: $(cat "$work/out")"
# One of another model, on other threads, with a test that there is none of here.
# shellcheck disable=SC2086
try 0 "$accelctl" bench prefill decode $quick --threads 2 --against "$theirs/other.json" "$q8"
has "llama-bench ran a model of 1040128 bytes of weights"
has "llama-bench had 1 thread, this run 2"
grep -q '^prompt 16 + 8  *- ' "$work/out" || fail "no row for the test that is theirs alone"
# A run over several numbers of threads: the tests with ours stand beside, the others below.
sed -e 's/"n_threads": 2,/"n_threads": 1,/' "$theirs/stories260K.json" >"$work/one.json"
# shellcheck disable=SC2086
try 0 "$accelctl" bench prefill decode $quick --depth 0,32 --threads 2 --json --against "$work/one.json" \
    --against "$theirs/stories260K.json" "$q8"
is "$(value against.program)" llama-bench "program of JSON"
is "$(rows | tr '\n' ';')" "prefill 16;prefill 16 at 32;decode 8;decode 8 at 32;prefill 16, 1 thread;decode 8, 1 thread;prefill 16 at 32, 1 thread;decode 8 at 32, 1 thread;" \
    "rows of two numbers of threads"
is "$(value rows.0.peer.count) $(value rows.4.peer.count)" "3 3" "rounds of two numbers of threads"
positive rows.0.ratio rows.3.ratio rows.4.peer.median
# One whose texts alone had other threads: told of those ratios, and of no other.
sed '/"n_gen": 8,/s/"n_threads": 2,/"n_threads": 4,/' "$theirs/stories260K.jsonl" >"$work/mixed.jsonl"
# shellcheck disable=SC2086
try 0 "$accelctl" bench prefill decode $quick --depth 0,32 --threads 2 --json --against "$work/mixed.jsonl" "$q8"
positive rows.0.ratio rows.2.ratio
is "$(value warnings | grep -o 'llama-bench had [^"]*' | tr '\n' ';')" \
    "llama-bench had 4 threads in decode 8, this run 2;llama-bench had 4 threads in decode 8 at 32, this run 2;" \
    "notes of tests with other threads"
# An earlier run of ours.
# shellcheck disable=SC2086
try 0 "$accelctl" bench prefill decode $quick --json --against "$work/own.json" "$q8"
"$json" "$work/out" --origins || fail "numbers without origins"
is "$(value against.program)" accelctl "program of an own document"
positive rows.0.ratio rows.1.ratio

# refuse FILE WORDS: what --against does not read
refuse()
{
    try 3 "$accelctl" bench prefill --against "$1" "$q8"
    one_error "$2"
}
refuse "$work/nothing.json" "nothing.json: cannot be opened"
printf '[\n' >"$work/bad.json"
refuse "$work/bad.json" "bad.json:2: the file ends inside its array"
printf '[\n{"n_prompt": 1,\n "samples_ns": [}]\n' >"$work/bad.json"
refuse "$work/bad.json" "bad.json:3: "
printf '\n\n{"n_prompt": 16, "n_gen": 0, "samples_ns": [1, -2]}\n' >"$work/bad.json"
refuse "$work/bad.json" "bad.json:3: a time is no number above 0"
printf '{"n_prompt": 16, "n_gen": 0, "samples_ns": []}\n' >"$work/bad.json"
refuse "$work/bad.json" "bad.json:1: a test without times"
printf '{"n_prompt": 16, "n_gen": 0, "samples_ns": [1]}\n{"n_prompt": -1, "samples_ns": [1]}\n' >"$work/bad.json"
refuse "$work/bad.json" "bad.json:2: a test of llama-bench has n_prompt"
printf '{"schema": "accelctl/bench/1", "facts": {}}\n' >"$work/bad.json"
refuse "$work/bad.json" "bad.json:1: a document of accelctl bench has facts and rows"
printf '{"schema": "accelctl/bench/1", "facts": {}, "rows": [], "interrupted": true}\n' >"$work/bad.json"
refuse "$work/bad.json" "bad.json:1: that run was interrupted before its first test"
printf '{"n_prompt": 16, "n_gen": 0, "samples_ns": [1e300]}\n' >"$work/bad.json"
refuse "$work/bad.json" "bad.json:1: a time is below a picosecond or above a century"
printf '[{"n_prompt": 16, "n_gen": 0, "samples_ns": [1]}]\n| more\n' >"$work/bad.json"
refuse "$work/bad.json" "bad.json:2: text behind the end of the tests"
awk 'BEGIN { for (i = 1; i <= 1001; i++) print "{\"n_prompt\": " i ", \"n_gen\": 0, \"samples_ns\": [1e6]}" }' >"$work/bad.json"
refuse "$work/bad.json" "bad.json:1001: more than 1000 different tests"
printf '{"model": "x"}\n' >"$work/bad.json"
refuse "$work/bad.json" "bad.json:1: neither a test of llama-bench"
printf '| model | size |\n' >"$work/bad.json"
refuse "$work/bad.json" "bad.json:1: "
# A file without a test is none of a run in pieces, wherever it stands.
: >"$work/empty.json"
refuse "$work/empty.json" "empty.json:1: there is no test in it"
try 3 "$accelctl" bench prefill --against "$theirs/stories260K.json" --against "$work/empty.json" "$q8"
one_error "empty.json:1: there is no test in it"
try 3 "$accelctl" bench prefill --against "$theirs/other.json" --against "$work/own.json" "$q8"
one_error "comes from another program"

# Several sequences, attention alone, and operators through the driver: the machine is measured once for all of them.
try 0 "$accelctl" bench operators attention batch --rounds 2 --type q8_0,q4_g128,q8_g64 --shape 1x64x256,16x64x256 \
    --set compute.activations=q8_row --length 16,64 --tokens 8 --depth 0,16 --sequences 1,3 --json "$q8"
is "$(rows | sed -n 1,4p | tr '\n' ';')" "batch 1 x 8;batch 1 x 8 at 16;batch 3 x 8;batch 3 x 8 at 16;" "rows of batches"
is "$(value rows.2.sequences) $(value rows.2.units)" "3 24.0" "tokens of all sequences"
positive rows.2.value rows.2.fraction
"$json" "$work/out" - rows.0.bytes >"$work/one"
"$json" "$work/out" - rows.2.bytes >"$work/three"
checks=$((checks + 1))
awk 'NR == FNR { a = $1; next } { exit !($1 > a && $1 < 1.2 * a) }' "$work/one" "$work/three" ||
    fail "bytes of one sequence: $(cat "$work/one"), of three $(cat "$work/three")"
is "$(rows | sed -n '5,8s/^attention f16 //p' | sed 's/, 8.4x8$//' | tr '\n' ';')" "1 of 16;1 of 64;16 of 16;64 of 64;" \
    "attention alone: one token and a batch, each by length"
is "$(rows | sed -n '9,$p' | tr '\n' ';')" \
    "$(for type in q8_0 q4_g128 q8_g64; do printf 'matmul %s 1x64x256;matmul %s 16x64x256;' $type $type; done)" "rows of operators"
is "$(value rows.9.multiply_adds.int8)" 262144.0 "multiply-adds of 8 bits"
is "$(value rows.11.multiply_adds.int4)" 262144.0 "multiply-adds of 4 bits"
is "$(value rows.13.multiply_adds.int8_row)" 262144.0 "multiply-adds with one scale for a row of activations"
positive rows.8.seconds.0 rows.11.time.median
try 0 "$accelctl" bench operators --rounds 1 --type q4_0 --shape 1x64x256 --set compute.activations=f32 --json
is "$(value facts.settings | grep -c 'compute.activations f32, ')" 1 "settings of operators: $(value facts.settings)"
is "$(value rows.0.name) $(value rows.0.multiply_adds.f32)" "matmul q4_0 1x64x256 16384.0" "activations that are not rounded"
try 0 "$accelctl" bench operators --rounds 1 --operator rms_norm,rotary,gate,add,softmax,embed,argmax,attention \
    --length 64 --json
is "$(rows | wc -l | tr -d ' ')" 10 "other operators"
is "$(value warnings | grep -c 'left out')" 0 "operators that were left out"
try 0 "$accelctl" bench operators --rounds 1 --operator scale,cache_write,reshape,top_k,expert_matmul,dense_attention --json
is "$(rows | sed 's/ .*//' | tr '\n' ' ')" "cache_write reshape scale top_k expert_matmul dense_attention " \
    "operators that are measured in one form"
is "$(value warnings | grep -c 'left out')" 0 "operators of one form that were left out"
is "$(value rows.0.bytes)" 788480.0 "bytes of a cache write: x, its slots and rows in f16"
is "$(value rows.4.multiply_adds.int8)" 134217728.0 "multiply-adds of chosen experts"
# A type is that of every operator with such a weight, and options that change nothing are refused.
try 0 "$accelctl" bench operators --rounds 1 --operator expert_matmul,embed --type q4_0,f16 --json
is "$(rows | tr '\n' ';')" "embed q4_0 512 of 32000x2048;expert_matmul q4_0 64x4 512x1024;embed f16 512 of 32000x2048;expert_matmul f16 64x4 512x1024;" \
    "types of operators other than matmul"
while IFS='|' read -r options words; do
    # shellcheck disable=SC2086
    try 2 "$accelctl" bench $options
    one_error "$words"
done <<END
operators --operator add --type q4_0|--type has no effect: it is for matmul, expert_matmul and embed
operators --operator add --shape 1x64x256|--shape has no effect: it is for matmul
operators --operator add --length 16|--length has no effect: it is for attention
operators --shape 1x64x256 --length 16|--length has no effect: it is for attention
operators --explain --rounds 2|--rounds has no effect
operators --sequences 2|--sequences has no effect: it is for batch
decode --prompt 16 $q8|--prompt has no effect: it is for prefill
prefill --tokens 8 $q8|--tokens has no effect: it is for decode and batch
load --depth 8 $q8|--depth has no effect: it is for prefill, decode and batch
decode --type q4_0 $q8|--type has no effect: it is for operators
--type q4_0 $q8|--type has no effect: it is for operators
END
try 2 "$accelctl" bench operators --operator scael
one_error "there is no such operator; did you mean scale?"
try 0 "$accelctl" bench attention --rounds 1 --length 1,300 --json "$q8"
is "$(rows | tr '\n' ';')" \
    "attention f16 1 of 1, 8/4x8;attention f16 1 of 300, 8/4x8;attention f16 256 of 300, 8/4x8;" \
    "no row twice, and no more tokens than a batch"

# Loading.
try 0 "$accelctl" bench load --rounds 1 --threads 2 --json "$q8"
"$json" "$work/out" --origins || fail "numbers without origins"
is "$(rows | tr '\n' ';')" "file, 1 thread;file, 2 threads;start, cold file;start, first run;start, second run;start, no cache;" "rows of loading"
is "$(value rows.5.unit)" ms "unit of loading"
positive rows.0.value rows.2.value rows.5.value
is "$(value facts.model_file) $(value facts.model)" \
    "$q8 llama, 5 layers x 64, 260032 parameters, Q8_0, F16" "model of a run that loads alone"
# What bounds no start is no limit of it: this file is small. One of a thousand times its bytes has one.
is "$("$json" "$work/out" - rows.5.limit 2>/dev/null)" "" "limit of a small file's start"
cp "$q8" "$work/long.gguf" && truncate -s 64M "$work/long.gguf" || fail "no long file"
try 0 "$accelctl" bench load --rounds 1 --threads 2 --json "$work/long.gguf"
is "$(value rows.5.limit)" "file read" "limit of a long file's start"
positive rows.5.fraction
rm "$work/long.gguf"
try 0 "$accelctl" bench load operators --rounds 1 --threads 1 --type q4_0 --shape 1x64x256 "$q8"
has "matmul q4_0 1x64x256"
# Lines of text are cut to a width, wherever the model lies.
tr -s ' \n' ' ' <"$work/out" | grep -qF "model $q8: llama, 5 layers" || fail "no line of the model: $(cat "$work/out")"

# The database: one run after the other.
if "$accelctl" bench machine --threads 1 --rounds 1 --json --sqlite "$work/db" >"$work/out" 2>"$work/err"; then
    is "$(value machine.threads)" 1 "threads that were asked for"
    is "$(rows)" "" "rows of the machine alone"
    # shellcheck disable=SC2086
    try 0 "$accelctl" bench prefill --rounds 2 --prompt 16 --sqlite "$work/db" --against "$theirs/stories260K.json" "$q8"
    cat >"$work/rows.py" <<'END'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
one = lambda text: db.execute(text).fetchone()[0]
print(one("SELECT count(*) FROM run"), one("SELECT count(*) FROM result"), one("SELECT count(*) FROM sample"),
      one("SELECT count(*) FROM result WHERE run = 2 AND ratio > 0 AND fraction > 0 AND value > 0"),
      one("SELECT count(*) > 0 FROM fact WHERE run = 1"), one("SELECT count(*) > 1 FROM sequence WHERE run = 2"),
      one("SELECT name FROM result"), one("PRAGMA integrity_check"))
END
    if command -v python3 >/dev/null 2>&1; then
        is "$(python3 "$work/rows.py" "$work/db")" "2 2 2 1 1 1 prefill 16 ok" "rows of the database"
    else
        echo "skipped: python3 is not here to read the database"
    fi
    printf 'no database, and longer than a header of one would be: %0512d' 0 >"$work/text"
    cp "$work/text" "$work/copy"
    try 3 "$accelctl" bench machine --sqlite "$work/text"
    one_error "text: "
    cmp -s "$work/text" "$work/copy" || fail "--sqlite changed a file that is no database"
    # A disk without room, as far as a limit on files is one, is no wrong input, and nothing is left on it.
    try 1 sh -c 'ulimit -f 8; exec "$@"' sh "$accelctl" bench machine --rounds 1 --sqlite "$work/full"
    one_error "full: "
    grep -q 'remedy: .*(ulimit -f)' "$work/err" || { cat "$work/err"; fail "no remedy of a limit on files"; }
    [ ! -e "$work/full" ] || fail "an empty database is left"
    for name in "" :memory:; do
        try 3 "$accelctl" bench machine --rounds 1 --sqlite "$name"
        one_error "names no file"
    done
    # A file that fails after the work: the results are one document all the same.
    if [ -n "$(command -v python3)" ]; then
        printf 'import sqlite3, sys\nsqlite3.connect(sys.argv[1]).execute("CREATE TRIGGER no BEFORE INSERT ON run BEGIN SELECT RAISE(ABORT, \x27no room\x27); END")\n' >"$work/no.py"
        python3 "$work/no.py" "$work/db"
        try 1 "$accelctl" bench machine --rounds 1 --json --sqlite "$work/db"
        is "$(value schema)" accelctl/bench/1 "results that the database did not take"
        one_error "no room"
    fi
else
    grep -q 'this build has no SQLite' "$work/err" || fail "--sqlite: $(cat "$work/err")"
    echo "skipped: the database, which this build does not write"
fi

# An interrupt ends the work with what there is.
: >"$work/out"
"$accelctl" bench prefill decode --rounds 1000 --prompt 64 --json "$q8" >"$work/out" 2>"$work/err" </dev/null &
pid=$!
await_handler
kill -INT $pid 2>/dev/null
wait $pid
is $? 130 "status after an interrupt"
is "$(value interrupted)" true "interrupted"

# Interrupted at its first work, a run is told and kept all the same.
: >"$work/out"
"$accelctl" bench load --rounds 1000 --json --sqlite "$work/interrupted" "$q8" >"$work/out" 2>"$work/err" </dev/null &
pid=$!
await_handler
kill -INT $pid 2>/dev/null
wait $pid
if ! grep -q 'this build has no SQLite' "$work/out"; then
    is "$(value interrupted)" true "a run that was interrupted at once"
    [ -n "$(value facts.begun)" ] || fail "a run that was interrupted at once does not tell when it began"
    is "$(cat "$work/err")" "" "errors of a run that was interrupted at once"
fi

# Which kernel runs for which rows of x: told by the driver, with nothing measured.
try 0 "$accelctl" bench operators --explain --type q4_0,q8_0,iq2_s --shape 1x64x256,40x64x256 --set cpu.isa=scalar \
    --set cpu.layout=rows
is "$(sed -n '2,$p' "$work/out" | tr -s ' ' | tr '\n' ';')" "$(for type in q4_0 q8_0 iq2_s; do
    for rows in 1 40; do printf 'matmul %s %sx64x256 matmul %s x q8: matmul8 scalar;' $type $rows $type; done; done)" \
    "kernels of plain C"
if "$accelctl" bench operators --explain --shape 1x64x256 --set cpu.isa=avx2 >/dev/null 2>&1; then
    for line in "rows q4_0 2 gemv_row4" "rows q4_0 3 gemm8" "rows q3_k 2 gemv_k" "rows q3_k 3 gemm8" "rows f16 17 gemm32" \
        "panels q4_0 8 gemv_packed" "panels q4_0 9 gemm8" "panels iq4_xs 2 gemv_k"; do
        # shellcheck disable=SC2086
        set -- $line
        try 0 "$accelctl" bench operators --explain --type "$2" --shape "$3x64x256" --set cpu.isa=avx2 \
            --set cpu.layout="$1" --json
        "$json" "$work/out" accelctl/bench/operators/1 || fail "--explain --json"
        case "$(value operators.0.kernel)" in
        *": $4 avx2"*) ;;
        *) fail "kernel of $line: $(value operators.0.kernel)" ;;
        esac
        checks=$((checks + 1))
    done
    # One scale for a row of activations, if it is allowed: from 17 rows on, and weights of 8 bits with groups of 64 and more.
    try 0 "$accelctl" bench operators --explain --type q8_g64,q8_g32 --shape 16x64x256,17x64x256 --set cpu.isa=avx2 \
        --set cpu.layout=rows --set compute.activations=q8_row
    is "$(sed -n '2,$s/.*256 *//p' "$work/out" | tr '\n' ';')" \
        "matmul planar x q8_row: gemm8 avx2, x q8;matmul planar x q8_row: gemm8_row avx2;matmul q8_g32 x q8: gemm8 avx2;matmul q8_g32 x q8: gemm8 avx2;" \
        "kernels with one scale for a row"
    # What is staged in place of what may be: with many rows codebooks are multiplied as floats.
    try 0 "$accelctl" bench operators --explain --type nf4_g64 --shape 1x64x256,512x64x256 --set cpu.isa=avx2
    is "$(sed -n '2,$s/.*256 *//p' "$work/out" | tr '\n' ';')" \
        "matmul codebook x q8: gemv_unpacked avx2;matmul codebook x q8: gemm32 avx2, x f32;" "kernels of a codebook"
    # Activations that may not be rounded, of experts too.
    try 0 "$accelctl" bench operators --explain --operator matmul,expert_matmul --type q4_0 --set cpu.isa=avx2 \
        --set compute.activations=f32
    is "$(sed -n '2,$s/.*matmul.* x //p' "$work/out" | sed 's/[:,].*//' | sort -u)" f32 "activations that may not be rounded"
    try 0 "$accelctl" bench operators --explain --operator expert_matmul --type q8_g64 --set cpu.isa=avx2 \
        --set compute.activations=q8_row
    has "expert matmul x q8_row: avx2, by rows of an expert: gemv_planar, from 5 gemm8, from 17 gemm8_row"
    # Operators that stage rows of their own: the kernel of a block of places, and those by the rows of an expert.
    try 0 "$accelctl" bench operators --explain --operator conv,expert_matmul --set cpu.isa=avx2 --set cpu.layout=rows
    has "conv x f32: gemm32 avx2"
    has "expert matmul x q8: avx2, by rows of an expert: gemv_row4, from 7 gemm8"
fi
# A shape that a type does not have leaves the others.
try 0 "$accelctl" bench operators --explain --type q4_k,q8_0 --shape 1x64x64
grep -q "^matmul q4_k 1x64x64 .* a row of 64 is no whole number of blocks of 256" "$work/out" || fail "no reason of a shape"
grep -q "^matmul q8_0 1x64x64 .* gemv" "$work/out" || fail "no kernel behind a refused shape"
try 2 "$accelctl" bench operators --explain --shape 1x64x64 --set cpu.isa=sse9
one_error "cpu.isa=sse9"
try 2 "$accelctl" bench --explain machine
one_error "bench: --explain requires the subject operators alone"

# Usage.
try 2 "$accelctl" bench
try 2 "$accelctl" bench prefill
one_error "bench prefill: requires a model"
try 2 "$accelctl" bench "$q8" "$f32"
one_error "one model at a time"
grep -q "^  remedy: accelctl bench once for each model" "$work/err" || fail "no remedy of two models"
# As in llama-bench, a list that is given again is longer; several models are not measured in silence either.
try 2 "$accelctl" bench -m "$q8" -m "$f32"
one_error "one model at a time"
try 0 "$accelctl" bench -p 8 -p 16 -p 24,32 -n 0 -r 1 --json -m "$q8"
is "$(rows | tr '\n' ';')" "prefill 8;prefill 16;prefill 24;prefill 32;" "rows of a repeated list"
for option in "--prompt 0" "--prompt 1,x" "--tokens 5," "--depth -1" "--rounds 0" "--type q9" "--shape 1x2"; do
    # shellcheck disable=SC2086
    try 2 "$accelctl" bench operators prefill $option "$q8"
done
try 3 "$accelctl" bench "$work/nothing.gguf"
one_error "nothing.gguf"
# What does not fit the model's context is told, with whose limit that is, and left out.
try 0 "$accelctl" bench prefill --rounds 1 --prompt 16,5000 "$q8"
has "prefill 5000 at depth 0 is left out: the model was made for 512 tokens"
try 0 "$accelctl" bench prefill --rounds 1 --prompt 16,500 --set context=32tok --json "$q8"
is "$(value warnings | grep -c 'prefill 500 at depth 0 is left out: the context has 32 tokens (--set context=...)')" 1 \
    "a context that was set"
# Where nothing is left, nothing is measured.
for left in "prefill --prompt 5000" "decode batch --tokens 8 --depth 600" "batch --set sequences=2"; do
    # shellcheck disable=SC2086
    try 2 "$accelctl" bench $left --rounds 1 "$q8"
    one_error "no test fits the context, so nothing is measured: the "
    is "$(cat "$work/out")" "" "output of bench $left"
done
# Options of a model's run without a model, two numbers of threads, and a limit on memory are named.
for option in "-ctk q8_0" "-b 16" "--no-mmap"; do
    # shellcheck disable=SC2086 # words
    try 2 "$accelctl" bench operators --operator scale $option
    one_error "bench: $option has no effect: no model is measured"
done
try 2 "$accelctl" bench decode "$q8" -t 1 --set cpu.threads=2
one_error "cpu.threads=2 has no effect, since cpu.threads=1 is fixed (command line -t 1)"
if ! sanitized; then
    try 1 sh -c 'ulimit -v 200000; exec "$@"' sh "$accelctl" bench machine --rounds 1
    grep -q "^accelctl: measuring the machine on .*: Cannot allocate memory" "$work/err" || { cat "$work/err"; fail "a limit on memory"; }
    grep -q "^  remedy: free memory, or let the process have more (ulimit -v)" "$work/err" || fail "no remedy of a limit on memory"
fi

finish
