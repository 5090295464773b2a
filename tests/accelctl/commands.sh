#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every command as a user calls it: text, JSON with its schema, help, wrong usage, suggestions, the standard output full.
. "$ACCEL_TEST_SRCDIR/tests/accelctl/lib.sh"

for command in devices plugins version "plan $q8" "run $q8 -n 3"; do
    name=${command%% *}
    # shellcheck disable=SC2086 # commands have arguments
    {
        try 0 "$accelctl" $command
        [ -s "$work/out" ] || fail "$command prints nothing"
        grep "$(printf '\033')" "$work/out" "$work/err" && fail "$command prints colours into a file"
        awk -v name="$name" 'name != "run" && length($0) > 100 + 60 { print; bad = 1 } END { exit bad }' "$work/out" ||
            fail "$command: long lines"
        try 0 "$accelctl" $command --json
        case $name in plan) schema=accelctl/plan/2 ;; *) schema=accelctl/$name/1 ;; esac
        "$json" "$work/out" "$schema" || fail "$command --json"
        [ -s "$work/err" ] && { cat "$work/err"; fail "$command --json writes to the error output"; }
        try 2 "$accelctl" $command --jason
        one_error "did you mean --json?"
        try 2 "$accelctl" $command --json --nothing
        "$json" "$work/out" accelctl/error/1 || fail "$command: an error as JSON"
        is "$(value error.exit)" 2 "exit status in JSON"
        try 1 sh -c "exec \"\$@\" >/dev/full" sh "$accelctl" $command
        one_error "cannot write"
        try 1 sh -c "exec \"\$@\" >/dev/full" sh "$accelctl" $command --json
    }
done
for command in $(commands); do
    try 0 "$accelctl" help $command
    cp "$work/out" "$work/help"
    try 0 "$accelctl" $command --help
    cmp "$work/out" "$work/help" || fail "help $command is not $command --help"
    # A name and its text stand in two columns, or in two lines.
    awk 'length($0) > 100 || (/^      --|^  -., --/ && length($0) > 32 && (substr($0, 32, 1) != " " || substr($0, 33, 1) == " ")) \
        { print; bad = 1 } END { exit bad }' "$work/out" || fail "columns of help $command"
    has "Usage: accelctl $command"
    has "--json"
done
try 0 "$accelctl" --help
for code in 0 1 2 3 4 5 130; do
    grep -q "^  $code  " "$work/out" || fail "--help does not list status $code"
done
grep -A1 '^  ACCEL_COMPILE_MILLISECONDS$' "$work/out" | grep -q '^  *time limit' || fail "--help runs a name and its text together"
try 4 "$accelctl" run "$q8" --device gpu
one_error "there is no device gpu that is hardware; here are cpu:cpu0 (cpu)"
grep -q "remedy: name DRIVER:ID" "$work/err" || fail "nothing says how a device is named"
# By kind, by id, the first of a list that is here, with the platform and without; a misspelt one names the choices.
for name in cpu0 nothing,cpu gpu,cpu0 npu,cpu:cpu0,nothing; do
    try 0 "$accelctl" plan "$q8" --device "$name"
    has "on cpu:cpu0: needs"
done
try 0 "$accelctl" plan "$q8" --platform cpu --device cpu0
has "on cpu:cpu0: needs"
try 4 "$accelctl" plan "$q8" --platform cpu --device cpu1
one_error "of the platform cpu here are cpu:cpu0 (cpu)"
try 0 "$accelctl" devices --names
is "$(cat "$work/out")" "cpu:cpu0
cpu
cpu0" "names that --device takes"
# What is no number in its range is told the range; two words of which one is nothing are no two models.
for value in -x nan 1e300 x; do
    try 2 "$accelctl" run "$q8" --temp "$value"
    one_error "run: --temp requires a number from 0 to 1"
done
try 2 "$accelctl" run "$q8" -n -2
one_error "run: -n requires a whole number from 1 to 1000000000000000, or -1 for no limit, not '-2'"
try 2 "$accelctl" run "$q8" --n-predict=x
one_error "run: --n-predict requires a whole number"
try 2 "$accelctl" run "$q8" --ubatch-size
one_error "run: --ubatch-size requires a value: N"
try 2 "$accelctl" run "$q8" --seed -2
one_error "run: --seed requires a whole number from 0 to 18446744073709551615, or -1"
for words in "nonsense $q8" "$q8 nonsense"; do
    # shellcheck disable=SC2086
    try 2 "$accelctl" bench $words
    one_error "bench: there is no subject and no file 'nonsense'"
    grep -q "^  remedy: subjects are .*decode" "$work/err" || fail "no subjects are named"
done
try 2 "$accelctl" bench decode "$q8" "$f32"
one_error "bench: one model at a time, not '$f32' too"
# A misspelt variable is not silent in commands that make no plan.
for words in devices plugins "cache list" "profile list clients" "profile settings cpu"; do
    # shellcheck disable=SC2086
    try 0 env ACCEL_DRIVERPATH=/x "$accelctl" $words
    is "$(cat "$work/err")" \
        "warn: environment ACCEL_DRIVERPATH: unknown variable without effect; did you mean ACCEL_DRIVER_PATH?" "$words"
done
# Nor is one of a driver, in such a command or where another device has the plan; a setting may have the name of a driver.
try 0 env ACCEL_CPU_ISSA=avx2 ACCEL_CPU_THREADS=1 ACCEL_CPU_ISA= "$accelctl" devices
is "$(cat "$work/err")" \
    "warn: environment ACCEL_CPU_ISSA has no effect: the driver cpu has no option \"issa\"; did you mean \"cpu.isa\"?" "devices"
try 0 "$accelctl" plugins
if grep -q "^ *opencl\.cache " "$work/out"; then
    for words in "plan $q8" "run $q8 -q -n 1 -p x"; do
        # shellcheck disable=SC2086
        try 0 env ACCEL_OPENCL_CAHCE=off "$accelctl" $words --device cpu
        is "$(cat "$work/err")" \
            "warn: environment ACCEL_OPENCL_CAHCE has no effect: the driver opencl has no option \"cahce\"; did you mean \"opencl.cache\"?" \
            "$words"
    done
fi
try 0 "$accelctl" --version
try 2 "$accelctl"
one_error "a command is required"
try 2 "$accelctl" devcies
one_error "did you mean 'devices'?"
# A misspelt word is answered with the nearest of the known ones wherever there is a list of them.
while IFS='|' read -r guess words; do
    # shellcheck disable=SC2086 # words of a command
    eval "set -- $words"
    checks=$((checks + 1))
    "$accelctl" "$@" >"$work/out" 2>"$work/err" </dev/null
    [ $? -ge 2 ] || fail "accepted: accelctl $words"
    one_error "did you mean $guess?"
done <<END
"cpu"|run "$q8" --device cpuu
"cpu:cpu0"|run "$q8" --device cpu:cpu
"cpu:cpu0"|plan "$q8" --set placement=0-4=cpu:cpu7
"devices"|profile list device_
"a100"|profile show devices/a10
"a100"|profile show a10
"oom"|plan llama-2-7b --advise om
vllm|plan llama-2-7b --emit vlm
stream|plan llama-2-7b --mode steam
memory|claims --subject memry
claimed|claims --verdict claimd
json|matrix --format jsn
matmul|bench operators --operator matml "$q8"
chatml|run "$q8" --chat --chat-template chatmll -p a
asymmetric|quantize --scheme asymetric --type q4 "$f32" "$work/none.gguf"
gptq|quantize --method gtpq --type q4 "$f32" "$work/none.gguf"
smollm2-135m|run smolm2-135m
END
try 2 "$accelctl" help nothing
try 2 "$accelctl" ../accelctl
try 2 "$accelctl" plan
one_error "requires an argument: MODEL"
grep -q "^  remedy: for example, accelctl plan .* model.gguf; accelctl plan --help" "$work/err" || fail "no example of a call"
try 2 "$accelctl" cache
grep -qx "  remedy: actions are list, clear, warm; accelctl cache --help lists arguments and options" "$work/err" ||
    fail "no actions are listed"
try 2 "$accelctl" plan "$q8" "$q8"
try 2 "$accelctl" plan --device
one_error "--device requires a value"
# What asks for JSON in a wrong way is told in JSON.
for words in "devices --json=yes" "plan --json= $q8" "--json=1" "nothing --json=1" "run --json-lines=1 $q8"; do
    # shellcheck disable=SC2086 # words
    try 2 "$accelctl" $words
    "$json" "$work/out" accelctl/error/1 || { cat "$work/out" "$work/err"; fail "no document of: $words"; }
done
has '"text":"run: --json-lines takes no value"'
try 0 "$accelctl" plan -- "$q8"
try 3 "$accelctl" plan -- --json
one_error "--json"
# A command that is a program in PATH is none; one in the folder of helper programs is.
printf '#!/bin/sh\necho "extra $*"\n' >"$work/accelctl-extra"
chmod +x "$work/accelctl-extra"
try 2 env PATH="$work:$PATH" "$accelctl" extra
extra=$ACCEL_TEST_BUILDDIR/uninstalled/libexec/accelctl-extra$$
if cp "$work/accelctl-extra" "$extra" 2>"$work/err"; then
    try 0 "$accelctl" "extra$$" a b
    has "extra a b"
    rm -f "$extra"
fi

try 0 "$accelctl" devices --all
has "memory.total"
has "cpu:cpu0"
try 0 "$accelctl" plan "$q8" --nodes --overruled
has "layers.0.q "
has "over auto      built in"
has "FITS"
has "base.yaml:"
try 0 "$accelctl" plan "$q8" --json
is "$(value settings.context.value)" 512 "the context"
is "$(value fallbacks)" 0 "fallbacks"
is "$(value memory.fits)" true "fits"
try 5 "$accelctl" plan "$q8" --set memory.budget=1MiB
has "DOES NOT FIT"
try 5 "$accelctl" run "$q8" --set memory.budget=1MiB
one_error "the plan needs"
try 4 "$accelctl" run "$q8" --device nothing
one_error "there is no device"
# Another device where the setting allows it: counted and said, whatever the command and the form.
for policy in warn allow; do
    try 0 "$accelctl" run "$q8" -n 2 --device nothing --set fallback.device=$policy
    for words in ", 1 fallback$" "^fallback   cpu:cpu0 stands in for nothing: there is no device nothing.* is $policy"; do
        grep -q "$words" "$work/err" || { cat "$work/err"; fail "no '$words' after a run with $policy"; }
    done
    try 0 "$accelctl" run "$q8" -n 2 --device nothing --set fallback.device=$policy --json
    is "$(value placement.fallbacks)" 1 "fallbacks with $policy"
    case $(value placement.because.0) in "cpu:cpu0 stands in for nothing"*) ;; *) fail "why another device is used" ;; esac
    try 0 "$accelctl" plan "$q8" --device nothing --set fallback.device=$policy
    has "! cpu:cpu0 stands in for nothing"
    try 0 "$accelctl" plan --all "$q8" --device nothing --set fallback.device=$policy
    has "nodes, 1 fallback"
    has "! cpu:cpu0 stands in for nothing"
    try 0 "$accelctl" plan "$q8" --device nothing --set fallback.device=$policy --json
    is "$(value fallbacks)" 1 "fallbacks in a plan with $policy"
done
try 2 "$accelctl" run "$q8" --set nothing=1
one_error "is unknown"
try 2 "$accelctl" run "$q8" --set context=x
try 2 "$accelctl" run "$q8" --set context
one_error "KEY=VALUE"
for wrong in "--temperature nan" "--temperature -x" "--temperature x" "--top-p 1.5" "--min-p 2" "--seed -2" "-n 0" "-n x" \
    "-n 1e3" "--repetition-penalty 0" "--top-k 99999999999" "--chat" "--system x" "-x" "-n"; do
    # shellcheck disable=SC2086
    try 2 "$accelctl" run "$q8" $wrong
    one_error "run: "
done

# Sampling repeats with its seed and changes with it; the default seed is 0; options in all spellings.
try 0 "$accelctl" run "$q8" -q -n 60 --seed 1
cp "$work/out" "$work/one"
try 0 "$accelctl" run "$q8" -qn60 --seed=1
cmp "$work/out" "$work/one" || fail "the same seed wrote another text"
try 0 "$accelctl" run "$q8" -q -n 60 --seed 2
cmp -s "$work/out" "$work/one" && fail "another seed wrote the same text"
try 0 "$accelctl" run "$q8" -gqn 30
cp "$work/out" "$work/one"
try 0 "$accelctl" run "$q8" -q -n 30 --temperature 0
cmp "$work/out" "$work/one" || fail "temperature 0 is not greedy"
try 0 "$accelctl" run "$q8" -q -n 30 --top-k 1 --seed 5
cmp "$work/out" "$work/one" || fail "top-k 1 is not greedy"
# Weights that are read, not mapped, give the same text.
try 0 "$accelctl" run "$q8" -n 30 --greedy --set weights.type=f32 --set weights.load=map
grep -q "^note       weights.load=map: .* KiB of .* are used where the file is mapped, the rest is packed or converted (command line" \
    "$work/err" || { cat "$work/err"; fail "weights that are not mapped are not reported"; }
try 0 "$accelctl" run "$q8" -q -n 30 --greedy --set weights.load=read
cmp "$work/out" "$work/one" || fail "weights.load=read wrote another text"
# One thread and the scalar kernels: the same tokens.
try 0 "$accelctl" run "$q8" -q -n 30 --greedy --set cpu.threads=1
cmp "$work/out" "$work/one" || fail "one thread wrote another text"

# The numbers after a text.
try 0 "$accelctl" run "$q8" -n 20 --ignore-end --prompt "Once upon a time"
has "Once upon a time, "
for words in "memory     planned" "first token after" "20 tokens, " "0 fallbacks" "VmHWM"; do
    grep -qF "$words" "$work/err" || fail "no '$words' after a run"
done
try 0 "$accelctl" run "$q8" -n 20 --ignore-end --json
is "$(value ids.#)" 20 "tokens written"
is "$(value stop)" length "why it stopped"
is "$(value placement.fallbacks)" 0 "fallbacks"
try 0 "$accelctl" run "$q8" --json --set context=8tok --ignore-end --prompt "Once upon a time"
is "$(value stop)" "context full" "why it stopped"
try 3 "$accelctl" run "$q8" --chat --prompt hello
one_error "no chat template"
finish
