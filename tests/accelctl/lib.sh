# SPDX-License-Identifier: Apache-2.0
# What the tests of the command share; sourced. They run it from the build tree as a user would, without variables.
set -u
unset ACCEL_DRIVER_PATH ACCEL_PROFILE_PATH ACCEL_PROBE
# What is printed shall not depend on which OpenCL and Vulkan devices a machine has: the tests of these drivers alone see
# them.
case $0 in
*/opencl.sh | */split.sh | */vulkan.sh)
    # PoCL compiles a kernel once for all runs of these tests, also where the folder of cached kernels is empty.
    POCL_CACHE_DIR=$ACCEL_TEST_BUILDDIR/tests/cache/pocl
    mkdir -p "$POCL_CACHE_DIR"
    export POCL_CACHE_DIR
    ;;
*)
    OCL_ICD_VENDORS=/nonexistent VK_ICD_FILENAMES=/nonexistent VK_DRIVER_FILES=/nonexistent
    export OCL_ICD_VENDORS VK_ICD_FILENAMES VK_DRIVER_FILES
    ;;
esac
src=$ACCEL_TEST_SRCDIR
# The program that libtool's script starts with this variable, without the five processes of the script.
accelctl=$ACCEL_TEST_BUILDDIR/.libs/accelctl
LD_LIBRARY_PATH=$ACCEL_TEST_BUILDDIR/.libs
export LD_LIBRARY_PATH
json=$ACCEL_TEST_BUILDDIR/tests/accelctl/json
stages=$ACCEL_TEST_BUILDDIR/tests/accelctl/stages
models=$src/samples/stories260K
q8=$models/stories260K-q8_0.gguf
f32=$models/stories260K-f32.gguf
exact="--set compute.activations=f32 --set kv.type.k=f32 --set kv.type.v=f32"
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work" "$work.failed"' EXIT
XDG_CACHE_HOME=$work/cache
XDG_STATE_HOME=$work/state
export XDG_CACHE_HOME XDG_STATE_HOME
failed=0
checks=0

# A crash ends a process by its signal in builds with sanitizers too.
crash_by_signal()
{
    ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}handle_segv=0:handle_sigfpe=0:handle_abort=0"
    export ASAN_OPTIONS
}

# Counts in the subshells of $(...) as well, where a variable would be lost.
fail()
{
    echo "FAIL: $*"
    failed=1
    : >"$work.failed"
}

# try STATUS COMMAND...: runs it with its outputs in $work/out and $work/err; fails where the status is another one.
try()
{
    wanted=$1
    shift
    checks=$((checks + 1))
    "$@" >"$work/out" 2>"$work/err" </dev/null
    status=$?
    if [ $status != "$wanted" ]; then
        head -c 2000 "$work/out" "$work/err"
        fail "status $status, not $wanted, from: $*"
    fi
}

# one_error WORD: the error output is one line of an error that contains WORD, and at most a remedy.
one_error()
{
    lines=$(grep -vc '^  remedy: ' "$work/err")
    if [ "$lines" != 1 ] || ! grep -q '^accelctl: ' "$work/err" || ! grep -qF -- "$1" "$work/err"; then
        cat "$work/err"
        fail "not one line of an error that has '$1'"
    fi
}

# rows_add_up: the weights in the rows of layers of the plan in $work/out (--json) are those of its memory.
rows_add_up()
{
    rows=$("$json" "$work/out" - "layers.*.weight_bytes" | awk '{ sum += $1 } END { printf "%.0f", sum }')
    "$json" "$work/out" - "memory.classes.*.bytes" >"$work/bytes"
    memory=$("$json" "$work/out" - "memory.classes.*.class" | paste "$work/bytes" - |
        awk -F '\t' '$2 ~ /^(mapped )?weights$/ { sum += $1 } END { printf "%.0f", sum }')
    [ "$memory" -gt 0 ] || fail "no weights in the memory"
    is "$rows" "$memory" "weights in rows of layers"
}

# planned_is_used DEVICE MODEL: what shapes tell is used to the byte, the rest is planned no lower than it is used, and
# all of it by a fifth higher at most. The peak of host memory is that of reading compiled kernels, before there is more.
planned_is_used()
{
    try 0 "$accelctl" run "$2" --json --greedy --ignore-end -n 8 --device "$1" --prompt "Once upon a time"
    for class in weights state activations scratch program; do
        planned=$(number "memory.classes.$class.planned")
        measured=$(number "memory.classes.$class.allocated")
        checks=$((checks + 1))
        case $class in
        program) [ "$measured" -gt 0 ] && [ "$measured" -le "$planned" ] ;;
        *) [ "$planned" -gt 0 ] && [ "$measured" = "$planned" ] ;;
        esac || fail "$class of $2 on $1: planned $planned, used $measured"
    done
    planned=$(value memory.planned)
    measured=$(value memory.allocated)
    checks=$((checks + 1))
    [ "$measured" -le "$planned" ] && [ "$((planned * 5))" -le "$((measured * 6))" ] ||
        fail "memory of $2 on $1: planned $planned, used $measured"
}

# compiled_by_use DEVICE: kernels that are compiled with the sets that use them write the same text.
compiled_by_use()
{
    try 0 "$accelctl" run "$f32" --greedy -q -n 48 --prompt "Once upon a time" --device "$1" \
        --set "${1%%:*}.precompile=false"
    is "$(cat "$work/out")" "$text" "text of kernels compiled by use on $1"
}

# rounds_rows DEVICE: kernels of GPUs round activations with one scale for a token, and lose by it what the cpu driver does.
rounds_rows()
{
    as_gpu="--set ${1%%:*}.arrangement=gpu --set ${1%%:*}.features=-matrix"
    [ -e "$work/g64" ] || try 0 "$accelctl" quantize --type q8_g64 "$f32" "$work/g64"
    try 0 "$accelctl" plan "$work/g64" --all --device "$1" --set compute.activations=q8_row
    grep -q "matmul q8_g64 x q8_row" "$work/out" || has "q8_row changes nothing: no kernel of $1"
    # shellcheck disable=SC2086 # words
    try 0 "$accelctl" bench operators --explain --device "$1" --set compute.activations=q8_row $as_gpu --shape 64x64x512 \
        --type q8_row,q8_g64,q8_g128a,q8_g32,q8_0,q4_g128,nf4_g64
    if ! grep -q "x q8" "$work/out"; then
        echo "skipped: $1 has no dot products of bytes"
        return
    fi
    is "$(sed -n 's/^matmul [^ ]* .* matmul //p' "$work/out" | tr '\n' ';')" \
        "q8_row x q8_row;q8_g64 x q8_row;q8_g128a x q8_row;q8_g32 x q8;q8_0 x q8;q4_g128 x q8;nf4_g64 x f32;" \
        "kernels for rounded rows on $1"
    printf '%s' "Once upon a time there was a little girl called Lily who lived in a small house near the wood with her mother. \
One day they went to the lake, and she saw a big red boat. They sat in it and ate bread until it rained." >"$work/rows.txt"
    # shellcheck disable=SC2086 # words
    try 0 "$accelctl" eval --json --text "$work/rows.txt" --set compute.activations=q8_row --device "$1" $as_gpu \
        --against "$work/g64" --reference-set compute.activations=f32 "$work/g64"
    value models.0.text.kl.mean | awk '{ exit !($1 > 0.0001 && $1 < 0.003) }' ||
        fail "KL of q8_row activations on $1: $(value models.0.text.kl.mean)"
}

# starts_of DEVICE MODEL: the rows of `bench load` on a device whose kernels are compiled.
starts_of()
{
    try 0 "$accelctl" bench load --rounds 1 --threads 1 --json --device "$1" "$2"
    number=0
    for name in "file, 1 thread" "start, cold file" "start, first run" "start, second run" "start, no cache" \
        "start, no cached kernels" "start, first run, compiled by use" "start, second run, compiled by use" \
        "start, no cached kernels, compiled by use"; do
        is "$(value rows.$number.name)" "$name" "row $number of loading on $1"
        value rows.$number.value | awk '{ exit !($1 > 0) }' || fail "$name on $1 has no time"
        number=$((number + 1))
    done
}

# is TEXT WANTED WHAT
is()
{
    checks=$((checks + 1))
    [ "$1" = "$2" ] || fail "$3: '$1', not '$2'"
}

# has WORDS: the standard output has them.
has()
{
    checks=$((checks + 1))
    grep -qF -- "$1" "$work/out" || { head -c 3000 "$work/out"; fail "the output has no '$1'"; }
}

# value PATH: of the JSON document in $work/out
value()
{
    "$json" "$work/out" - "$1" || fail "no value $1" >&2
}

# number PATH: the same, and it has to be a whole number
number()
{
    found=$(value "$1")
    case $found in
    '' | *[!0-9]*) fail "$1 is '$found', no number" >&2 ;;
    esac
    echo "$found"
}

# The fixtures of families of decoders.
family_fixtures()
{
    sed -n 's/^FIXTURE("\(.*\)")$/\1/p' "$src/tests/unit/family_fixtures.def"
}

# place FIXTURE: sets $folder to its folder, in the tree or in ACCEL_SHARED_FIXTURES.
place()
{
    folder=$src/tests/fixtures/$1
    [ -d "$folder" ] || folder=${ACCEL_SHARED_FIXTURES:-/nowhere}/$1
}

# The names of all commands.
commands()
{
    "$accelctl" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'
}

# handles_interrupt: the program of the process $pid has begun, which a shell on its way to it has not, and handles an
# interrupt: the second bit of the mask. A shell of a script ignores it for what it runs in the background.
handles_interrupt()
{
    case $(readlink /proc/$pid/exe) in
    *accelctl) grep -q '^SigCgt:.*[2367abefABEF]$' /proc/$pid/status ;;
    *) return 1 ;;
    esac
}

# wait_until PID COMMAND...: waits until the command succeeds. Fails if the process PID ends before, or after five minutes,
# which a machine with other work may need.
wait_until()
{
    awaited=$1 tries=0
    shift
    until "$@"; do
        tries=$((tries + 1))
        [ $tries -le 3000 ] && kill -0 "$awaited" 2>/dev/null || return 1
        sleep 0.1
    done
}

has_bytes()
{
    [ "$(wc -c <"$1")" -ge "$2" ]
}

is_empty()
{
    [ "$(ls -A "$1")" = "" ]
}

await_handler()
{
    wait_until $pid handles_interrupt
}

# True in a build with sanitizers, which want more address space than limits leave.
sanitized()
{
    nm "$ACCEL_TEST_BUILDDIR/.libs/libaccel.so" | grep -qE '__(asan|ubsan|tsan)'
}

finish()
{
    echo "$checks checks"
    [ $failed = 0 ] && [ ! -e "$work.failed" ] || exit 1
    exit 0
}
