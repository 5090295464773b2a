#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# accelctl chat as a pipe and a person use it: turns share the KV cache and answer as a conversation that is prefilled at
# once, commands, files, a full context, what is refused by name.
. "$ACCEL_TEST_SRCDIR/tests/accelctl/lib.sh"

# chat STATUS LINES OPTION...: lines of printf's format into a chat with the small model, which has no template of its own
chat()
{
    wanted=$1
    printf "$2" >"$work/in"
    shift 2
    checks=$((checks + 1))
    # shellcheck disable=SC2086
    "$accelctl" chat "$f32" $exact --chat-template chatml --greedy -n 12 "$@" <"$work/in" >"$work/out" 2>"$work/err"
    status=$?
    [ $status = "$wanted" ] || { cat "$work/out" "$work/err"; fail "status $status, not $wanted, of a chat: $*"; }
}

# says WORDS: the error output has them.
says()
{
    checks=$((checks + 1))
    grep -qF -- "$1" "$work/err" || { cat "$work/err"; fail "the error output has no '$1'"; }
}

# answer NUMBER: this line of JSON becomes the document that value reads
answer()
{
    [ -e "$work/answers" ] || cp "$work/out" "$work/answers"
    sed -n "$1p" "$work/answers" >"$work/out"
}

# all_lines SCHEMA...: the output is one line of JSON for each, of that schema.
all_lines()
{
    is "$(wc -l <"$work/out" | tr -d ' ')" $# "lines of JSON"
    cp "$work/out" "$work/lines"
    for schema; do
        head -n 1 "$work/lines" >"$work/line"
        sed -i 1d "$work/lines"
        "$json" "$work/line" "$schema" || { cat "$work/line"; fail "a line of $schema"; }
    done
}

# ---- turns ----
chat 0 "Once upon a time\n/save $work/one.json\nTom and Lily\n" --json
is "$(wc -l <"$work/out" | tr -d ' ')" 2 "answers"
rm -f "$work/answers"
answer 1
"$json" "$work/out" accelctl/chat/1 || fail "the schema of an answer"
is "$(number time.cached_tokens) $(value stop) $(value time.tokens)" "0 length 12" "the first turn"
first=$(value content)
context=$(number context)
is "$(number time.prefill_tokens)" "$context" "tokens that the first turn prefills"
answer 2
second=$(value content)
# The last token of an answer that a length ended has not been fed.
is "$(number time.cached_tokens)" $((context + 11)) "tokens that the second turn finds in the cache"
is "$(number time.prefill_tokens)" $(($(number context) - context - 11)) "tokens that the second turn prefills"
chat 0 'Tom and Lily\n' --json --resume "$work/one.json"
rm -f "$work/answers"
is "$(value content)" "$second" "the second answer of a conversation that is prefilled at once"
is "$(value time.cached_tokens)" 0 "cached tokens of a conversation that was loaded"
# The first turn is what run --chat writes.
# shellcheck disable=SC2086
try 0 "$accelctl" run "$f32" $exact --chat --chat-template chatml --greedy -n 12 -q --prompt "Once upon a time"
is "$(cat "$work/out")" "$first" "the text of run --chat"
# The last line of a pipe needs no end, nor an /exit; messages of several lines.
chat 0 'Once upon a time' -q
is "$(cat "$work/out") $(cat "$work/err")" "$first " "a message without an end of line"
chat 0 "\"\"\"Once upon\na time\"\"\"\n/save $work/lines.json\n/clear\nOnce upon a time\n/exit\nnever\n" -q
is "$("$json" "$work/lines.json" - messages.0.content)" "Once upon
a time" "a message of several lines"
is "$(tail -n 1 "$work/out")" "$first" "the answer behind /clear and before /exit"

# ---- /regenerate, /set, /system ----
chat 0 'Once upon a time\n/regenerate\n/set temperature=1.5\n/set seed 7\n/regenerate\n/regen\n' --json
rm -f "$work/answers"
answer 1
one=$(value content)
answer 2
is "$(value content) $(value time.prefill_tokens)" "$one 1" "the greedy answer once more, and its prefill"
answer 3
three=$(value content)
answer 4
[ "$three" != "$one" ] && [ "$(value content)" != "$three" ] || fail "draws of /regenerate: '$one' '$three'"
chat 0 'Once upon a time\n/regenerate\n'
says "greedy: the answer is the same unless something else has changed, or two tokens are nearly tied"
chat 0 'Once upon a time\n/system You are a dog.\nOnce upon a time\n/system ""\n/clear\nOnce upon a time\n' --json
rm -f "$work/answers"
answer 2
[ "$(number time.cached_tokens)" -lt "$context" ] || fail "the cache has an answer to another system message"
answer 3
is "$(value content)" "$one" "the answer without the system message"
chat 0 '/set\n/set parameter top_k 3\n/set tokens=2\n/set ignore-eos on\n/help\n/system\n'
says "greedy=true"
says "top-k=3"
says "tokens=2  ignore-end=true"
says "/regenerate"
says "no system message"
chat 2 '/set context=64tok\nOnce\n' -q
says "/set: context is part of the plan, which needs a new session"
says "accelctl chat --resume FILE --set context=64tok $f32"
# Names of llama.cpp and ollama mean what they mean on the command line.
for row in "num_gpu 99:gpu.layers=99" "n_gpu_layers=all:gpu.layers=all" "num_ctx 0:context=auto" "threads=1:cpu.threads=1" \
    "cache-type-k q8_0:kv.type.k=q8" "flash_attn off:attention.kernel=eager" "no_mmap:weights.load=read"; do
    chat 2 "/set ${row%:*}\n" -q
    says "--resume FILE --set ${row#*:} "
done
chat 0 '/set temp 0.5\n/set num_predict 3\n/set repeat_penalty=1.1\n'
says "temperature=0.5"
says "tokens=3"
says "repetition-penalty=1.1"
for line in "/set temprature=1" "/set nothing=1" "/set temperature=x" "/set greedy=perhaps" "/sav x" "/save" "/regenerate" \
    "/nothing" '"""open'; do
    printf '%s\n' "$line" >"$work/in"
    # shellcheck disable=SC2086
    try 2 sh -c 'exec "$@" <'"$work/in" sh "$accelctl" chat "$f32" --chat-template chatml -q
    one_error ""
done

# Commands of other programs: one that is here by another name, and those without.
chat 0 'Once\n/retry\n' -q
for row in "undo:/regenerate answers" "show:/set shows" "read:accelctl run MODEL --chat -f FILE"; do
    chat 2 "/${row%%:*} x\n" -q
    says "  remedy: ${row#*:}"
done
chat 2 '/set seed=x\n' -q
one_error "/set: seed requires a whole number from 0 to 18446744073709551615, or -1 to draw one, not 'x'"
says "  remedy: /set lists what can be set"
# The list has every key that --help has, greedy or not.
chat 0 '/set\n'
for key in $("$accelctl" chat --help | sed -n 's/^ .*--\(tokens\|greedy\|temperature\|top-k\|top-p\|min-p\|repetition-penalty\|repeat-last-n\|seed\|ignore-end\)\b.*/\1/p'); do
    says "$key="
done
says "greedy=true"
says "temperature=0.8"
says "stop: none"
chat 0 '/set temperature=-1\n' -q
says "greedy=true"

try 2 "$accelctl" chat "$f32" Hello
one_error "chat: one argument too many: 'Hello'"
grep -q "remedy: chat reads messages from the standard input" "$work/err" || fail "no remedy for a message"
try 2 "$accelctl" chat "$f32" --system a --resume b
one_error "chat: --resume continues with the system message of its file"

# ---- files ----
for line in /save /load "/load -" "/save -"; do
    chat 2 "$line\n" -q
    one_error ""
    says "  remedy: ${line%% *} FILE"
done
chat 2 '' -q --resume -
one_error "--resume - is no file of a conversation"
chat 3 "/load $work/none.json\n" -q
says "  remedy: name a file that /save wrote"
chmod 600 "$work/one.json"
cp "$work/one.json" "$work/before"
printf 'Once\n/save %s\n' "$work/one.json" |
    sh -c 'ulimit -f 0; exec "$@" 2>&1' sh "$accelctl" chat "$f32" --chat-template chatml -q -n 3 --no-cache | cat >"$work/err"
says "one.json: File too large"
cmp "$work/before" "$work/one.json" || fail "a file that could not be written lost what it had"
chat 1 "Once\n/save $work/no/file\n" -q
says "cannot be written: there is no folder"
is "$(find "$work" -name 'one.json.*')" "" "what is left beside a file"
chat 0 "/load $work/one.json\n/save $work/two.json\n" -q
cmp "$work/one.json" "$work/two.json" || fail "a conversation that is loaded and saved"
printf '[{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]' >"$work/list.json"
chat 0 'c\n' -q --resume "$work/list.json"
chat 0 "/system Be brief.\n/load $work/list.json\n"
says "the conversation has no system message, and the one set before is gone"
chat 0 'c\n/regenerate\n'
says "[prefill 1 token, "
for wrong in '{' '{"schema": "accelctl/plan/2", "messages": []}' '[{"role": "user"}]' '[{"role": "assistant", "content": "b"}]' \
    '[{"role": "user", "content": "a"}]' '[{"role": "robot", "content": "a"}]' '3'; do
    printf '%s' "$wrong" >"$work/wrong.json"
    chat 3 "/load $work/wrong.json\n" -q
    one_error "wrong.json: "
    chat 3 '' -q --resume "$work/wrong.json"
done
chat 3 '' -q --resume "$work/none.json"
one_error "none.json: No such file"
# What a file brings reaches no terminal as it is.
printf '[{"role": "system", "content": "\\u001b[31mred\\u0007\\u202e"}]' >"$work/red.json"
chat 0 "/load $work/red.json\n/system\n" -q
is "$(cat "$work/err")" "?[31mred??" "a system message with control sequences"

# ---- a full context: a message that it does not hold is wrong usage, as a prompt of a run is ----
chat 2 'Once upon a time there was a girl\n' -c 4
says "the context is full (kv.full=stop): with this message the conversation has"
try 2 "$accelctl" run "$f32" -c 4 -p "Once upon a time there was a girl"
chat 2 'Once upon a time there was a girl\nAnd a boy\nAnd a dog\nOnce upon a time\n' --set context=96tok -n 100 --ignore-end
says "the context of 96 tokens is full, and the answer ends (kv.full=stop)"
says "the context is full (kv.full=stop): with this message the conversation has"
for full in slide "prune --set kv.prune=recency"; do
    # shellcheck disable=SC2086
    chat 0 'Once upon a time there was a girl\nAnd a boy\nAnd a dog\n/regenerate\nand\n' --set context=128tok --json \
        --set kv.full=$full -n 60 --ignore-end --set attention.page=32tok --set batch=32tok
    is "$(wc -l <"$work/out" | tr -d ' ')" 5 "answers with kv.full=$full"
    rm -f "$work/answers"
    answer 3
    [ "$(number time.evicted_tokens)" -gt 0 ] && [ "$(number context)" -gt 128 ] || fail "kv.full=$full let nothing leave"
    answer 5
    [ "$(number time.cached_tokens)" -gt 0 ] && [ "$(number time.cached_tokens)" -le 128 ] &&
        [ "$(number time.prefill_tokens)" -lt 64 ] || fail "kv.full=$full begins anew with each turn"
    # shellcheck disable=SC2086
    chat 0 'Once upon a time there was a girl\nAnd a boy\n' --set context=96tok --set kv.full=$full -n 60 --ignore-end \
        --set attention.page=32tok --set batch=32tok
    says "tokens have left the KV cache (kv.full=${full%% *})"
done

# The first failure is the exit status, whatever fails behind it.
chat 3 "/load $work/none.json\nOnce upon a time there was a girl\nAnd a boy\nAnd a dog\nOnce upon a time\n" \
    --set context=96tok -n 100 --ignore-end
says "the context is full (kv.full=stop): with this message"
chat 3 "/load $work/none.json\n/save $work/no/file\n/nothing\n" -q
# With --json the answers and the errors of commands are lines of one stream, and those of the options as well.
chat 2 "/set temperature=x\n/set greedy=7\n/nothing\n/load $work/none.json\n/save $work/no/file\nOnce\n/set x=1\n" \
    -n 2 --json
error=accelctl/error/1
all_lines $error $error $error $error $error accelctl/chat/1 $error
is "$(cat "$work/err")" "" "the error output beside lines of JSON"
has '"/set: temperature requires a number from 0 to 1000, not '"'x'"'"'
chat 2 '' --json --nothing
all_lines $error
try 3 "$accelctl" run --json-lines --prompt Once "$work/none.gguf"
all_lines $error

# ---- signals ----
# Nobody sits at a pipe: an answer that is cut is not a success, and no further line is answered.
printf 'Once\nTwice\n' >"$work/in"
for signal in INT TERM; do
    : >"$work/cut"
    "$accelctl" chat "$f32" --chat-template chatml --greedy --ignore-end --set kv.full=slide --set context=128tok \
        --set attention.page=32tok --set batch=32tok <"$work/in" >"$work/cut" 2>"$work/err" &
    pid=$!
    wait_until $pid has_bytes "$work/cut" 1
    kill -$signal $pid
    wait $pid
    is $? 130 "status of a chat that SIG$signal ended"
    is "$(grep -c '^\[prefill ' "$work/err")" 1 "answers before SIG$signal"
done

# ---- templates, and what is no text ----
try 3 "$accelctl" chat "$f32"
one_error "the model has no chat template"
says "--chat-template FILE"
try 3 "$accelctl" chat "$f32" --chat-template chatlm
one_error "no such file, and no built-in template"
printf '{{ nothing( }}' >"$work/wrong.jinja"
try 3 "$accelctl" chat "$f32" --chat-template "$work/wrong.jinja"
one_error "wrong.jinja:1"
for name in gemma llama2 llama3 mistral phi3 zephyr; do
    chat 0 '/system Be brief.\nOnce\nand\n' --chat-template $name --json
    is "$(wc -l <"$work/out" | tr -d ' ')" 2 "answers with the template $name"
done
printf "{%% for m in messages %%}{{ m.role + ': ' + m.content + '\\\\n' }}{%% endfor %%}" >"$work/plain.jinja"
chat 0 'Once\nand\n' --chat-template "$work/plain.jinja" -q
printf 'caf\351\n' >"$work/latin"
try 2 sh -c 'exec "$@" <'"$work/latin" sh "$accelctl" chat "$f32" --chat-template chatml -q
one_error "not UTF-8 at byte 3"
printf 'a\0b\n' >"$work/zero"
try 2 sh -c 'exec "$@" <'"$work/zero" sh "$accelctl" chat "$f32" --chat-template chatml -q
one_error "zero byte"
try 2 "$accelctl" chat "$f32" --greedy --top-k 3
one_error "chat: --greedy draws nothing"
checks=$((checks + 1))
printf 'Once\n' | "$accelctl" chat "$f32" --chat-template chatml -q -n 3 >/dev/full 2>"$work/err"
is $? 1 "status of a chat whose output is full"
says "cannot write to the standard output"

# ---- a terminal ----
if command -v python3 >/dev/null; then
    checks=$((checks + 1))
    LC_ALL=C.UTF-8 python3 "$src/tests/accelctl/chat_terminal.py" "$accelctl" "$f32" "$XDG_STATE_HOME" >"$work/terminal" 2>&1 ||
        { cat "$work/terminal"; fail "a chat on a terminal"; }
    grep '^skipped' "$work/terminal"
else
    echo "skipped: python3 is not here to make a terminal"
fi

# ---- a real model, whose template is its own ----
real=${ACCEL_REAL_MODELS:-/nonexistent}/smollm2/SmolLM2-135M-Instruct.Q4_1.gguf
if [ -e "$real" ]; then
    printf 'What is the capital of France?\nAnd of Germany?\n' >"$work/in"
    try 0 sh -c 'exec "$@" <'"$work/in" sh "$accelctl" chat --greedy -q -n 40 --set compute.activations=f32 "$real"
    is "$(cat "$work/out")" "The capital of France is Paris.
The capital of Germany is Berlin." "two turns with a real model"
else
    echo "skipped: no real model; ACCEL_REAL_MODELS names its folder"
fi
# ---- what /save replaces: a conversation, and nothing else ----
cp "$q8" "$work/own.gguf"
printf '{"hidden_size": 64}\n' >"$work/config.json"
ln -s "$work/own.gguf" "$work/link"
mkfifo "$work/fifo"
before=$(cksum <"$work/own.gguf")
for target in own.gguf config.json link fifo; do
    printf '/save %s\n' "$work/$target" >"$work/keys"
    try 2 sh -c 'exec "$1" chat --chat-template chatml "$2" <"$3"' sh "$accelctl" "$work/own.gguf" "$work/keys"
    says "remedy: name a new file, or remove what is there"
done
is "$(cksum <"$work/own.gguf") $(cat "$work/config.json")" "$before {\"hidden_size\": 64}" "files that /save was pointed at"
[ -p "$work/fifo" ] && [ -L "$work/link" ] || fail "/save replaced a pipe or a link"

finish
