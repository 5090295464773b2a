#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Texts to tokens and back, as a user of llama-tokenize would ask for them.
. "$ACCEL_TEST_SRCDIR/tests/accelctl/lib.sh"

# From an argument, an option, a file, the standard input; of GGUF, of a folder, of a vocabulary alone.
ids_wanted="[1, 403, 407, 261, 378]"
cp "$f32" "$work/vocabulary.gguf"
chmod u+w "$work/vocabulary.gguf"
printf '\000\000\000\000\000\000\000\000' | dd of="$work/vocabulary.gguf" bs=1 seek=8 conv=notrunc 2>"$work/err"
printf 'Once upon a time' >"$work/text"
for model in "$f32" "$q8" "$models/hf" "$models/hf/tokenizer.json" "$work/vocabulary.gguf"; do
    try 0 "$accelctl" tokenize "$model" "Once upon a time" --ids
    is "$(cat "$work/out")" "$ids_wanted" "ids of $model"
done
try 0 "$accelctl" tokenize -m "$f32" -p "Once upon a time" --ids
is "$(cat "$work/out")" "$ids_wanted" "ids of --prompt"
try 0 "$accelctl" tokenize "$f32" --file "$work/text" --ids
is "$(cat "$work/out")" "$ids_wanted" "ids of a file"
is "$("$accelctl" tokenize "$f32" --ids <"$work/text")" "$ids_wanted" "ids of what is piped in"
is "$("$accelctl" tokenize "$f32" -f - --ids <"$work/text")" "$ids_wanted" "ids of -"
try 0 "$accelctl" tokenize --show-count "$f32" "Once upon"
is "$(cat "$work/out")" "     1 -> '<s>'
   403 -> ' Once'
   407 -> ' upon'
Total number of tokens: 3" "tokens with their text"

# And back, the same text.
for text in "Once upon a time" "é ß 日本 🦙" "  two  blanks" "tab	and <s> a mark"; do
    ids=$("$accelctl" tokenize "$f32" --ids --no-special "$text")
    try 0 "$accelctl" tokenize "$f32" --decode "$ids"
    is "$(cat "$work/out")" "$text" "text of its own tokens"
    try 0 "$accelctl" tokenize "$f32" --json --no-special "$text"
    is "$(value text)" "$text" "the text in a document"
    "$json" "$work/out" accelctl/tokenize/1 || fail "no document of that schema"
    "$json" "$work/out" --origins >"$work/missing" || { head -3 "$work/missing"; fail "numbers without origins"; }
done
is "$(echo "403 407" | "$accelctl" tokenize "$f32" --decode -)" "Once upon" "ids that are piped in"
# As the help says: what --ids prints is what --decode reads, through a pipe or a file; the list of tokens is not.
is "$("$accelctl" tokenize "$f32" --ids --no-bos "Once upon" | "$accelctl" tokenize "$f32" --decode -)" "Once upon" "a pipe back"
"$accelctl" tokenize "$f32" --ids --no-bos "Once upon" >"$work/ids"
is "$("$accelctl" tokenize "$f32" --decode - <"$work/ids")" "Once upon" "ids of a file"
for ids in "$work/ids" "403 -> ' Once'"; do
    try 2 "$accelctl" tokenize "$f32" --decode "$ids"
    one_error "--decode requires ids, not "
    grep -qF "remedy: ids are numbers with blanks or commas between them: --decode 1,2,3, or --decode - for those that tokenize --ids prints" \
        "$work/err" || { cat "$work/err"; fail "no remedy for ids"; }
done
try 0 "$accelctl" tokenize --help
tr -s ' \n' '  ' <"$work/out" | grep -qF "accelctl tokenize MODEL --ids TEXT | accelctl tokenize MODEL --decode -" || fail "help of both ways"
try 0 "$accelctl" tokenize "$f32" --decode 1,403,407
is "$(cat "$work/out")" "<s> Once upon" "special tokens in a text"
try 0 "$accelctl" tokenize "$f32" --decode 1,403,407 --no-special
is "$(cat "$work/out")" "Once upon" "special tokens are left out"

# Special tokens: added, recognized, or not.
try 0 "$accelctl" tokenize "$f32" --ids "<s>"
is "$(cat "$work/out")" "[1, 1]" "a special token in a text"
try 0 "$accelctl" tokenize "$f32" --ids --no-bos "<s>"
is "$(cat "$work/out")" "[1]" "without the begin token"
try 0 "$accelctl" tokenize "$f32" --ids --no-parse-special "<s>"
grep -qE '^\[1, [0-9]+, [0-9]+' "$work/out" && ! grep -qF '[1, 1]' "$work/out" || fail "a special token was recognized"
try 0 "$accelctl" tokenize "$f32" --ids ""
is "$(cat "$work/out")" "[1]" "an empty text"

# A part of a character has no text: its spelling is shown. Ends of lines do not break the list.
try 0 "$accelctl" tokenize "$f32" "🦙
x"
has "-> '<0xF0>'"
is "$(grep -vc " -> '" "$work/out")" 0 "lines that are no token"

# What is wrong.
try 2 "$accelctl" tokenize
one_error "requires an argument: MODEL [TEXT]"
try 2 "$accelctl" tokenize "$f32" a b
one_error "one argument too many"
try 2 "$accelctl" tokenize "$f32" a --file "$work/text"
one_error "TEXT and --file exclude each other"
try 2 "$accelctl" tokenize "$f32" --decode 1,x
one_error "requires ids, not 'x'"
for id in 512 99999999999 -1; do
    try 2 "$accelctl" tokenize "$f32" --decode=$id
    one_error "id "
done
try 3 "$accelctl" tokenize "$f32" --file "$work/none"
one_error "none"
try 3 "$accelctl" tokenize "$f32" "$(printf 'a\377b')"
one_error "UTF-8"
try 3 "$accelctl" tokenize "$work/text" a
one_error "is neither GGUF nor safetensors"
sed 's/"type": "BPE"/"type": "WordLevel"/' "$models/hf/tokenizer.json" >"$work/tokenizer.json"
try 3 "$accelctl" tokenize "$work/tokenizer.json" a
one_error "\"WordLevel\" is not supported"
grep -q '^  remedy: use a model whose tokenizer is one of BPE, Unigram, WordPiece' "$work/err" ||
    fail "WordLevel: no remedy"

# SentencePiece models, as a file and in a folder; a damaged one.
spiece=${ACCEL_SHARED_FIXTURES:-/nowhere}/../data/tokenizers/t5/spiece.model
if [ -e "$spiece" ]; then
    mkdir "$work/spm"
    cp "$spiece" "$work/spm/tokenizer.model"
    for model in "$spiece" "$work/spm" "$work/spm/tokenizer.model"; do
        try 0 "$accelctl" tokenize "$model" "Hello  world, fine" --ids
        is "$(cat "$work/out")" "[8774, 296, 6, 1399, 1]" "ids of $model"
    done
    head -c 100 "$spiece" >"$work/spiece.model"
    try 3 "$accelctl" tokenize "$work/spiece.model" a
    one_error "spiece.model: the message before byte"
else
    echo "skipped: no $spiece"
fi

# Real models: what llama.cpp v0.5.0 gives for the same text.
smollm2=${ACCEL_REAL_MODELS:-/nonexistent}/smollm2/SmolLM2-135M-Instruct.Q4_1.gguf
if [ -e "$smollm2" ]; then
    try 0 "$accelctl" tokenize "$smollm2" --ids "Hello <|im_start|> wörld 🦙
  def f(x): return 12345"
    is "$(cat "$work/out")" \
        "[19556, 216, 1, 267, 29989, 400, 15107, 116, 243, 3805, 753, 275, 24, 104, 727, 1003, 216, 33, 34, 35, 36, 37]" \
        "ids of SmolLM2"
else
    echo "skipped: no SmolLM2 in ACCEL_REAL_MODELS"
fi

finish
