# SPDX-License-Identifier: Apache-2.0
# Which settings a run honors. Every device profile, every client and every variable of the documents is tried on the
# cpu driver and on lavapipe; a table of every value with what becomes of it is printed. A value that is recommended
# never makes a run fail, and one that is not honored is on a line that the run prints.
. "$ACCEL_TEST_SRCDIR/tests/accelctl/lib.sh"
honored=$ACCEL_TEST_BUILDDIR/tests/accelctl/honored
profiles=$src/profiles
model=$q8
table=$work/table
: >"$table"

devices=cpu
lavapipe=$(ls /usr/share/vulkan/icd.d/lvp_icd*.json 2>/dev/null | head -n 1)
if [ -f "$ACCEL_TEST_BUILDDIR/plugins/vulkan/vulkan.la" ] && [ -n "$lavapipe" ]; then
    XDG_RUNTIME_DIR=${XDG_RUNTIME_DIR-$work}
    export XDG_RUNTIME_DIR
    VK_ICD_FILENAMES=$lavapipe VK_DRIVER_FILES=$lavapipe
    "$accelctl" devices 2>/dev/null | grep -q vulkan: && devices="cpu vulkan"
fi
[ "$devices" = "cpu vulkan" ] || echo "skipped: lavapipe is not here; the table is of the cpu driver alone"

# Without optimization lavapipe compiles faster.
GALLIVM_PERF=nopt
export GALLIVM_PERF

# choose_drivers DEVICE: lavapipe takes a tenth of a second to load, so only runs on it have it.
choose_drivers()
{
    VK_ICD_FILENAMES=/nonexistent
    [ $1 = cpu ] || VK_ICD_FILENAMES=$lavapipe
    VK_DRIVER_FILES=$VK_ICD_FILENAMES
}

# rows NAME PLACE [SETTINGS]: plans and runs on each device; adds rows of the values that come from PLACE to the table.
rows()
{
    for device in $devices; do
        choose_drivers $device
        # shellcheck disable=SC2086
        {
            try 0 "$accelctl" plan "$model" --device $device ${3-} --json
            mv "$work/out" "$work/plan.json"
            try 0 "$accelctl" run "$model" --device $device ${3-} --greedy -n 1 --prompt hello
        }
        # A profile is named by its file: of its folder there is more than one name.
        grep 'not honored: .*/[^ ]*\.yaml:' "$work/err" && fail "$1 on $device: a note names a folder of profiles"
        "$honored" "$work/plan.json" "$work/err" "$2" "$1" $device >>"$table" 2>"$work/why" ||
            { cat "$work/why"; fail "$1 on $device has a value that is not accounted for"; }
    done
}

# outcome NAME DEVICE KEY=VALUE OUTCOME
outcome()
{
    grep -q "^$1  *$2  *$3  *$4" "$table" || { grep "^$1 " "$table"; fail "$1 on $2: $3 is not $4"; }
}

# print_refused SETTING: a row of a value that the user gave, with what the run printed.
print_refused()
{
    printf '%-37s %-7s %-36s %-9s %s\n' --set cpu "$1" refused "$(sed -n 's/^accelctl: //p' "$work/err")" >>"$table"
}

cp -r "$profiles" "$work/profiles" || exit 99
# Each device profile, matched to the device at hand: facts and rules as they are, for a device of another name.
for file in "$profiles"/devices/*.yaml; do
    name=$(basename "$file" .yaml)
    awk '/^match:/ { print "match: device.memory > 0B"; inside = 1; next } inside && /^ / { next } { inside = 0; print }' \
        "$file" >"$work/profiles/devices/$name.yaml"
    ACCEL_PROFILE_PATH=$work/profiles rows "$name" "/$name.yaml"
    cp "$file" "$work/profiles/devices"
    grep -q "^$name " "$table" && continue
    # A profile that sets nothing here has facts, rules for several devices, or the settings of another profile.
    case "$(sed -n 's/^\(defaults\|inherits\):.*/\1/p' "$file") $devices" in
    *defaults*vulkan*) fail "nothing becomes of the settings of $name" ;;
    *inherits*) why="the settings of $(sed -n 's/^inherits: //p' "$file")" ;;
    *) why="facts" ;;
    esac
    rules=$(grep -c '^  - when:' "$file")
    is "$rules" "$(grep -c '^  - when: device.count >= 2$' "$file")" "rules of $name for several devices"
    [ "$rules" = 0 ] || why="$why, and rules for several devices"
    printf '%-37s %-7s %-36s %-9s %s\n' "$name" all - none "$why" >>"$table"
done
for device in $devices; do
    outcome t4 $device memory.trim=3 honored
    outcome 2xt4 $device memory.trim=5 honored
    outcome a100 $device memory.trim=10 honored
    power=noted
    [ $device != cpu ] || power=honored
    outcome m1 $device power=efficient $power
    outcome m2 $device power=efficient $power
    outcome h200 $device attention.kernel=tiled honored
    outcome rtx4090 $device attention.kernel=tiled honored
done


# Driver options of a profile that the device at hand refuses, beside one that it takes.
isa=neon
[ "$(uname -m)" = x86_64 ] || isa=avx2
cat >"$work/profiles/devices/options.yaml" <<END
accel-profile: 1
match: device.memory > 0B
defaults: {cpu.isa: $isa, vulkan.subgroup: 64, kernels.precompile: false}
END
ACCEL_PROFILE_PATH=$work/profiles rows options "/options.yaml"
rm "$work/profiles/devices/options.yaml"
for device in $devices; do
    case $device in
    cpu) outcome options cpu cpu.isa=$isa noted ;;
    vulkan)
        outcome options vulkan vulkan.subgroup=64 noted
        outcome options vulkan kernels.precompile=false honored
        ;;
    esac
done

# Each client: what its profile says of kernels is kept for later, and the run says nothing of it.
for file in "$profiles"/clients/*.yaml; do
    name=$(basename "$file" .yaml)
    rows "$name" "/$name.yaml" "--client $name"
    [ "$(grep -c "^$name  *cpu  *kernels.* later " "$table")" -ge 4 ] || fail "$name: its kernels are not kept for later"
done
outcome safari cpu weights.least=q8 honored

# Each variable of the documents, with a value that asks for something; then all of them at once on each device.
all=
here=$devices
devices=cpu
while read -r variable; do
    name=${variable%%=*}
    all="$all $variable"
    export "${variable?}"
    rows "$variable" "environment $name ("
    unset "$name"
    grep -q "^$variable " "$table" || fail "nothing becomes of $variable"
done <<END
WEBGPU_COMPUTE_SHADERS_ENABLED=1
WEB_PARALLEL_LOADING_ENABLED=1
WEBGPU_SHADER_PRECOMPILE_ENABLED=0
WEBGPU_DEFAULT_TO_4BIT=1
WEBGPU_QUANTIZATION_GROUP_SIZE=64
WEBGPU_QUANTIZATION_SCHEME=asymmetric
WEBGPU_ENABLE_KV_CACHE=0
WEBGPU_KV_CACHE_WINDOW_SIZE=64
WEBGPU_KV_CACHE_PRUNING=1
WEBGPU_FLASH_ATTENTION=0
WEBGPU_FLASH_ATTENTION_BLOCK_SIZE=64
WEBGPU_PROGRESSIVE_LOADING=1
WEBGPU_MAX_CHUNK_SIZE=100
WEBGPU_DEBUG=1
WEBGPU_SHADER_DEBUG=1
WEBGPU_TRACE=1
WEBGPU_QUANTIZATION_DEBUG=1
WEBGPU_MEMORY_DEBUG=1
WEBGPU_FLASH_ATTENTION_DEBUG=1
WEBGPU_PROGRESSIVE_LOADING_DEBUG=1
WEBGPU_MEMORY_PROFILING=1
WEBGPU_PROFILING_OUTPUT_DIR=$work
WEBGPU_PERFORMANCE_MONITORING=1
WEBGPU_MEMORY_MONITORING=1
WEBGPU_QUANTIZATION_METRICS=1
WEBGPU_FLASH_ATTENTION_METRICS=1
WEBGPU_4BIT_INFERENCE=1
WEBGPU_EFFICIENT_KV_CACHE=1
WEB_COMPONENT_CACHE=1
WEBGPU_ADAPTIVE_PRECISION=1
WEBGPU_DEFAULT_BITS=4
WEBGPU_CRITICAL_LAYERS_BITS=8
WEBGPU_MEMORY_THRESHOLD_MB=3800
WEBGPU_DYNAMIC_ADJUSTMENT=1
WEBGPU_MEASURE_ACCURACY=1
WEBGPU_4BIT_BLOCK_SIZE=64
WEBGPU_4BIT_SCHEME=asymmetric
WEBGPU_BROWSER_OPTIMIZATIONS=1
TARGET_BROWSER=chrome
WEBGPU_BROWSER=safari
END
for name in $(sed -n 's/^  \([A-Z0-9_]*\):.*/\1/p' "$profiles/environment.yaml"); do
    case " $all" in *" $name="*) ;; *) fail "the variable $name is not tried" ;; esac
done
devices=$here
# shellcheck disable=SC2086
export $all
rows "all variables" "environment WEB"
# shellcheck disable=SC2046
unset $(echo "$all" | tr ' ' '\n' | sed 's/=.*//')
for setting in kv.enabled=false attention.block=64 load.progressive=true load.chunk=104857600 \
    attention.kernel=eager; do
    grep -q "^WEB[^ ]* *cpu *$setting *noted *not honored" "$table" || fail "$setting of a variable is not noted"
done

# A recommended value that the model does not permit is declined before its pages are planned: they are not those of prune.
fixture=${ACCEL_SHARED_FIXTURES:-/nowhere}/gpt2-base
if [ -d "$fixture" ]; then
    WEBGPU_KV_CACHE_PRUNING=1
    export WEBGPU_KV_CACHE_PRUNING
    try 0 "$accelctl" plan "$fixture" --device cpu --set sequences=2 --all
    unset WEBGPU_KV_CACHE_PRUNING
    grep -q "a table of" "$work/out" && grep -qE '^ *attention\.page +64 tok' "$work/out" ||
        fail "pages are planned for a value that is not honored"
    # A file without its context, which the family knows.
    try 0 "$accelctl" plan "${fixture%/*}/bloom-base" --device cpu --all
    grep -qE '^ *attention\.page +2048 tok' "$work/out" || fail "a page is longer than the context"
fi

choose_drivers cpu
# One device is all that auto has to fill, and a client that the driver does not name is none.
for setting in placement=auto client=auto; do
    try 0 "$accelctl" run "$model" --device cpu -n 1 -p x --set $setting
    grep -q "not honored" "$work/err" && { cat "$work/err"; fail "$setting of a user is not honored"; }
done

# What other settings leave without effect is noted in plans and runs alike, and not where it has one.
for setting in kv.group=32 kv.sinks=8 weights.group=64 precision.default=q4; do
    try 0 "$accelctl" plan "$model" --device cpu --set $setting
    has "not honored: $setting"
    try 0 "$accelctl" plan "$model" --device cpu --reasons --set $setting
    sed '1,/^not honored$/d' "$work/out" | grep -q "^  $setting[ a-z]*  *[^ ]* .*" || { cat "$work/out"; fail "no reason why $setting is not honored"; }
    try 0 "$accelctl" run "$model" --device cpu -n 1 --set $setting
    grep -q "^note  *not honored: $setting" "$work/err" || { cat "$work/err"; fail "a run does not note $setting"; }
done
try 0 "$accelctl" plan "$model" --device cpu --set kv.sinks=8 --set kv.window=64tok
grep -q "not honored" "$work/out" && fail "kv.sinks with a window is noted"

# What the user gives is refused by name, with what to type instead.
for setting in kv.enabled=false vision.type=q4 measure.folder=x attention.kernel=eager role.norm=f16 placement=balanced; do
    try 4 "$accelctl" run "$model" -n 1 --set $setting
    one_error "${setting%%=*}"
    grep -q "^  remedy: .*${setting%%=*}" "$work/err" || { cat "$work/err"; fail "$setting is refused without a remedy"; }
    print_refused "$setting"
done
mkdir "$work/site" && cd "$work/site" || exit 99
printf 'accel-profile: 1\ndefaults: {kernels.sparse: true}\n' >accel.yaml
try 4 "$accelctl" run "$model" -n 1
one_error "./accel.yaml:2:"
one_error "kernels.sparse=true is not honored yet (later: qualcomm driver)"
cd "$work" || exit 99
try 0 "$accelctl" run "$model" -n 1 --set attention.kernel=tiled

# Advice offers settings that a run takes.
for topic in $("$accelctl" plan "$model" --advise none 2>&1 | sed -n 's/.*topics: //p' | tr -d ,); do
    try 0 "$accelctl" plan "$model" --advise "$topic" --json
    cp "$work/out" "$work/advice.json"
    steps=$(value steps.#)
    for step in $(seq 0 $((steps - 1))); do
        state=$("$json" "$work/advice.json" - "steps.$step.state")
        settings=$("$json" "$work/advice.json" - "steps.$step.settings")
        [ "$state" = offered ] && [ -n "$settings" ] || continue
        # shellcheck disable=SC2086
        try 0 "$accelctl" run "$model" -n 1 $settings
        grep "not honored" "$work/err" && fail "--advise $topic offers what a run does not honor: $settings"
    done
done
[ "$checks" -gt 150 ] || fail "only $checks commands"

cat "$table"
echo "$(grep -c ' honored ' "$table") honored, $(grep -c ' noted ' "$table") noted, $(grep -c ' overruled ' "$table") overruled, $(grep -c ' refused ' "$table") refused"
finish
