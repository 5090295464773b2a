# SPDX-License-Identifier: Apache-2.0
# Every setting of keys.def has a place that honors it and a test, or is for later and refused from the user. What the
# settings of power, vector instructions, kept weights and measurements do.
. "$ACCEL_TEST_SRCDIR/tests/accelctl/lib.sh"
cd "$work" || exit 99

# ---- keys.def ----

try 0 "$accelctl" profile settings --json
cp "$work/out" "$work/settings.json"
field()
{
    "$json" "$work/settings.json" - "settings.$1.$2"
}

# A value that the setting at an index may have.
value_of()
{
    case $(field "$1" type) in
    flag) echo true ;;
    choice) field "$1" words.0 ;;
    extent) echo 8x8 ;;
    size) echo 1MiB ;;
    *) echo "$(field "$1" lowest)$(field "$1" unit)" ;;
    esac
}

# The files that honor the option of a driver.
option_files()
{
    case $1 in
    opencl | vulkan) grep -l "name = \"${2#*.}\"" "$src"/sdk/gpu/*.c ;;
    *) grep -l "name = \"${2#*.}\"" "$src/plugins/$1"/*.c ;;
    esac
}

count=$("$json" "$work/settings.json" - "settings.#")
[ "$count" -gt 90 ] || fail "only $count settings"
unhonored=0 later=0
for i in $(seq 0 $((count - 1))); do
    name=$(field "$i" name) by=$(field "$i" by)
    case $(field "$i" carried) in
    run)
        [ -f "$src/$by" ] && grep -q "\"$name\"" "$src/$by" ||
            { echo "$name: $by does not name it"; unhonored=$((unhonored + 1)); }
        grep -rlqF "$name" "$src/tests/unit" "$src/tests/accelctl" || fail "no test names $name"
        ;;
    driver)
        for driver in $by; do
            [ -n "$(option_files "$driver" "$name")" ] ||
                { echo "$name: the driver $driver has no such option"; unhonored=$((unhonored + 1)); }
        done
        [ -n "$by" ] || unhonored=$((unhonored + 1))
        ;;
    later)
        later=$((later + 1))
        value=$(value_of "$i")
        try 4 "$accelctl" profile show cpu --set "$name=$value"
        one_error "(later: $by)"
        variable=$(field "$i" variable)
        try 4 env "$variable=$value" "$accelctl" profile show cpu
        one_error "environment $variable: $name="
        mkdir -p site
        printf 'accel-profile: 1\ndefaults: {%s: %s}\n' "$name" "$value" >site/accel.yaml
        cd site || exit 99
        try 4 "$accelctl" profile show cpu
        cd "$work" || exit 99
        one_error "./accel.yaml:2:12: $name="
        ;;
    *) fail "$name: nothing says what honors it" ;;
    esac
done
echo "$count settings, $later for later; accepted from a user and honored by no run: $unhonored"
is "$unhonored" 0 "settings that no run honors"

# ---- types by role ----

# Rows of 172 values have no group of 32, which the plan says of ffn.down.
for key in role.embedding role.attention.q role.attention.k role.attention.v role.attention.o role.ffn.up role.ffn.down; do
    try 0 "$accelctl" plan "$f32" --device cpu --set $key=q8 --parts
    type=q8_
    [ $key != role.ffn.down ] || type=f16
    grep -q "^  language  ${key#role.} .* $type.* --set $key=q8" "$work/out" || { cat "$work/out"; fail "$key=q8 has no effect"; }
done

# ---- power ----

# Of 6 fast and 8 slow cores.
power()
{
    try 0 "$accelctl" plan llama-2-7b --platform cpu --host "$src/tests/topologies/laptop-hybrid.json" --set "power=$1" --json
    is "$(value settings.cpu.threads.value)" "$2" "threads with power=$1"
}
power balanced 14
power efficient 8
power performance 6
try 0 "$accelctl" plan llama-2-7b --platform cpu --host "$src/tests/topologies/laptop-hybrid.json" --set power=efficient --set cpu.threads=3 --all
grep -q "slow: 3 threads on 8 cores" "$work/out" || { cat "$work/out"; fail "three threads do not begin with slow cores"; }
try 0 "$accelctl" plan llama-2-7b --platform cpu --host "$src/tests/topologies/two-sockets.json" --set power=efficient --all
has "half of the cores"

# ---- vector instructions ----

try 0 "$accelctl" run "$f32" --greedy -n 2 -p Once --device cpu --verbose --set kernels.simd=false
grep -q "driver=cpu device=cpu0 isa=scalar" "$work/err" || { cat "$work/err"; fail "kernels.simd=false is not scalar"; }
try 4 "$accelctl" run "$f32" -n 1 -p Once --device cpu --set kernels.precompile=false

# ---- kept weights ----

kept()
{
    find "$XDG_CACHE_HOME" -name "cpu-weights-*" | wc -l
}
try 0 "$accelctl" run "$q8" -q --greedy -n 1 -p Once --device cpu --set cpu.layout=panels --set cache.components=false
is "$(kept)" 0 "files of packed weights with cache.components=false"
try 0 "$accelctl" run "$q8" -q --greedy -n 1 -p Once --device cpu --set cpu.layout=panels
is "$(kept)" 1 "files of packed weights"

# ---- measurements ----

try 0 "$accelctl" run "$f32" --greedy -n 4 -p Once --json --set trace.steps=true --set measure.memory=true \
    --set measure.folder="$work/measured" --set metrics.performance=true --set metrics.memory=true
steps=$(wc -l <measured/steps.jsonl)
is "$steps" "$(wc -l <measured/memory.jsonl)" "lines of memory and of steps"
tokens=$(value time.tokens)
is "$steps" "$tokens" "a step of the prompt, and one for each token but the last"
case $(value metrics.0) in "measured: $steps steps, "*) ;; *) fail "metrics: $(value metrics.0)" ;; esac
case $(value metrics.1) in "measured: peak bytes: weights "*" state "[1-9]*) ;; *) fail "metrics: $(value metrics.1)" ;; esac
end=0
for line in $(seq 1 "$steps"); do
    sed -n "${line}p" measured/steps.jsonl >step.json
    begin=$("$json" step.json - begin_ns)
    [ "$begin" -ge "$end" ] || fail "step $line begins at $begin, before the one before it ends"
    end=$("$json" step.json - end_ns)
    [ "$end" -gt "$begin" ] || fail "step $line ends before it begins"
    is "$("$json" step.json - step)" "$line" "the number of a step"
done
sed -n 1p measured/memory.jsonl >memory.json
[ "$("$json" memory.json - state)" -gt 0 ] || fail "no bytes of the KV cache"
try 3 "$accelctl" run "$f32" -n 1 -p Once --set trace.steps=true --set measure.folder=/dev/null/x
one_error "measure.folder"
try 0 "$accelctl" run "$f32" -n 1 -p Once --set weights.type=q4 --set weights.group=32 --set metrics.quantization=true --json
"$json" "$work/out" - weights.0 | grep -q "relative error" || fail "metrics.quantization: $(value weights.0)"
finish
