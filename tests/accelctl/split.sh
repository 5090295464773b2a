#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Half of the layers on each of two devices, through the command: the same greedy text as on the processors alone, for
# every pair of drivers that has a device here; what the plan says of it; and what is refused.
. "$ACCEL_TEST_SRCDIR/tests/accelctl/lib.sh"
# Kernels are those of opencl.sh and vulkan.sh, and compile faster without optimization.
XDG_CACHE_HOME=$work/cache GALLIVM_PERF=nopt
export XDG_CACHE_HOME GALLIVM_PERF

try 0 "$accelctl" devices
opencl=$(sed -n 's/^\(opencl:[^ ]*\) .*/\1/p' "$work/out" | head -1)
vulkan=$(sed -n 's/^\(vulkan:[^ ]*\) .*/\1/p' "$work/out" | head -1)

try 0 "$accelctl" run "$f32" --greedy -q -n 48 --prompt "Once upon a time"
text=$(cat "$work/out")

# pair FIRST SECOND
pair()
{
    if [ -z "$1" ] || [ -z "$2" ]; then
        echo "SKIP: $3: a driver has no device here"
        return
    fi
    try 0 "$accelctl" plan "$f32" --all --set "placement=0-1=$1,2-4=$2"
    has "256 bytes of each token cross from $1 to $2"
    try 0 "$accelctl" plan "$f32" --json --set "placement=0-1=$1,2-4=$2"
    rows_add_up
    try 0 "$accelctl" plan "$f32" --set "placement=0-1=$1,2-4=$2"
    tr -s ' \n' '  ' <"$work/out" >"$work/line"
    grep -q "split layers 0-1, embedding on $1: weights .* layers 2-4, output with a copy of the embedding on $2: weights" \
        "$work/line" || { cat "$work/out"; fail "tables of no layer are not named"; }
    try 0 "$accelctl" run "$f32" --greedy -q -n 48 --prompt "Once upon a time" --set "placement=0-1=$1,2-4=$2"
    is "$(cat "$work/out")" "$text" "text of layers on $1 and $2"
}
# warm FIRST SECOND: kernels of every device of a plan are made before its first run, not those of the first device alone.
warm()
{
    [ -n "$1" ] && [ -n "$2" ] || return 0
    try 0 "$accelctl" cache clear
    try 0 "$accelctl" cache warm "$f32" --set "placement=0-1=$1,2-4=$2"
    has "$1, $2: loaded and run in"
    try 0 "$accelctl" cache list --json
    for name in $1 $2; do
        [ "$name" = cpu:cpu0 ] && continue
        grep -q "\"driver\": \"${name%%:*}\"" "$work/out" || fail "warming $1 and $2 kept nothing of $name"
    done
}
pair cpu:cpu0 "$opencl" "cpu and opencl"
# A variable of a driver would change the stages of a recorded plan: it is refused unless the plan has it.
if [ -n "$opencl" ]; then
    try 0 "$accelctl" plan "$f32" --set "placement=0-1=cpu:cpu0,2-4=$opencl" --out "$work/stages.json"
    try 4 env ACCEL_CPU_ISA=scalar "$accelctl" run "$work/stages.json" -q -n 3 -p Once
    one_error "environment ACCEL_CPU_ISA=scalar: layers of the plan $work/stages.json lie on cpu:cpu0, and it was made without cpu.isa"
    try 4 env ACCEL_OPENCL_SUBGROUPS=off "$accelctl" run "$work/stages.json" -q -n 3 -p Once
    one_error "remedy: unset ACCEL_OPENCL_SUBGROUPS, or make the plan anew with --set opencl.subgroups=off"
    try 0 "$accelctl" plan "$f32" --set "placement=0-1=cpu:cpu0,2-4=$opencl" --set opencl.subgroups=off --out "$work/stages.json"
    try 0 env ACCEL_OPENCL_SUBGROUPS=auto "$accelctl" run "$work/stages.json" -q -n 3 -p Once
fi
pair "$opencl" cpu:cpu0 "opencl and cpu"
pair cpu:cpu0 "$vulkan" "cpu and vulkan"
pair "$vulkan" cpu:cpu0 "vulkan and cpu"
pair "$opencl" "$vulkan" "opencl and vulkan"
warm cpu:cpu0 "$opencl"
warm cpu:cpu0 "$vulkan"
warm "$opencl" "$vulkan"

# layers DEVICE: the last layers there, the output counted as one of them, and the others on the processors.
layers()
{
    [ -n "$1" ] || return 0
    for count in 1 3 5 6 99 all; do
        try 0 "$accelctl" run "$f32" --temp 0 -n 48 -p "Once upon a time" --device "$1" -ngl $count
        is "$(cat "$work/out")" "Once upon a time$text" "text of -ngl $count on $1"
        case $count in
        1 | 3 | 5) wanted="^placement  [0-9]* nodes on cpu:cpu0, [0-9]* on $1, 0 fallbacks" ;;
        *) wanted="^placement  [0-9]* nodes on $1, 0 fallbacks" ;;
        esac
        grep -q "$wanted" "$work/err" || fail "-ngl $count on $1: $(cat "$work/err")"
    done
    try 0 "$accelctl" plan "$f32" --device "$1" -ngl 3 --all
    grep -q "language *0-2 *cpu:cpu0" "$work/out" || fail "-ngl 3: no layers on the processors: $(cat "$work/out")"
    grep -q "language *3-4 *$1" "$work/out" || fail "-ngl 3: no layers on $1"
    # A device that is short is no lack of the sum, in a plan and in a run; -ngl 0 takes the processors of a list.
    try 0 "$accelctl" plan "$f32" --device "$1" -ngl 1 --json
    cap=$(($(value verdict.needed) * 55 / 100))
    try 5 "$accelctl" plan "$f32" --device "$1" -ngl 1 --set memory.device=${cap}B
    words="MiB more than the budget of"
    tr -s ' \n' '  ' <"$work/out" | grep -q "on one device " && words="and one of its devices lacks"
    try 5 "$accelctl" run "$f32" --device "$1" -ngl 1 -n 1 -p x --set memory.device=${cap}B
    one_error "$words"
    try 0 "$accelctl" run "$f32" -q --greedy -n 1 -p Once --device "$1,cpu" -ngl 0
    try 2 "$accelctl" run "$f32" --device "$1" -ngl 0 -n 1 -p x
    one_error "gpu.layers=0 leaves no layer to a GPU, and the request names the device $1"
    try 2 "$accelctl" run "$f32" --device "$1" -ngl 2 --set placement=auto -n 1 -p x
    one_error "placement assigns the layers already"
    try 0 "$accelctl" run "$f32" --temp 0 -q -n 48 -p "Once upon a time" --device "$1" --set offload.layers=2
    is "$(cat "$work/out")" "$text" "text of offload.layers=2 on $1"
    mkdir -p "$work/site"
    printf 'accel-profile: 1\ndefaults: {gpu.layers: 2, kv.type: f32}\n' >"$work/site/accel.yaml"
    (cd "$work/site" && try 0 "$accelctl" run "$f32" --temp 0 -n 4 -p "Once upon a time" --device "$1" &&
        grep -q "^placement  [0-9]* nodes on cpu:cpu0, [0-9]* on $1" "$work/err") || fail "gpu.layers of a file: $(cat "$work/err")"
}
layers "$vulkan"

# named FIRST: one more device that is not asked for, or that would have all layers.
named()
{
    [ -n "$1" ] || return 0
    try 2 "$accelctl" plan "$f32" --set "placement=0-4=$1"
    one_error "placement puts all layers on $1, so it does not split the model"
    try 2 "$accelctl" run "$f32" -q -n 1 --prompt x --device cpu --set "placement=0-1=cpu:cpu0,2-4=$1"
    one_error "placement puts layer 2 on $1, and the request names cpu:cpu0"
    try 0 "$accelctl" plan "$f32" --all --set "placement=0-1=cpu:cpu0,2-4=$1"
    has "share the host's"
    grep -q "language *2-4 *$1" "$work/out" || fail "no row of layers: $(cat "$work/out")"
    try 0 "$accelctl" run "$f32" --greedy -n 4 --prompt x --set "placement=0-1=cpu:cpu0,2-4=$1"
    grep -q "^placement  [0-9]* nodes on cpu:cpu0, [0-9]* on $1, 0 fallbacks" "$work/err" || fail "no placement: $(cat "$work/err")"
    # The stages of a trace are those of both devices.
    folder=$src/tests/fixtures/llama-gqa
    try 0 "$accelctl" trace "$folder" --in "$folder/inputs.safetensors" --out "$work/stages.safetensors" \
        --set "placement=0=cpu:cpu0,1=$1"
    "$stages" "$work/stages.safetensors" "$folder/expected.safetensors" "$folder/fixture.json" ||
        fail "the stages of a trace over cpu:cpu0 and $1 differ"
    # Scores do not cross: the plan and the run refuse what reads them, by name.
    for setting in kv.prune=usage output.attention=true; do
        set -- "$1" --set "placement=0-1=cpu:cpu0,2-4=$1" --set kv.full="$([ $setting = kv.prune=usage ] && echo prune || echo stop)"
        try 4 "$accelctl" plan "$f32" "$2" "$3" "$4" "$5" --set $setting
        tr -s ' \n' '  ' <"$work/out" | grep -q "because .*--set $setting: $setting: the layers lie on several devices" ||
            fail "$setting is planned: $(cat "$work/out")"
        try 4 "$accelctl" run "$f32" -q -n 1 --prompt x "$2" "$3" "$4" "$5" --set $setting
        one_error "command line --set $setting: $setting: the layers lie on several devices"
    done
    try 0 "$accelctl" plan "$f32"
    grep -q "runs* of this model" "$work/out" && fail "a run on two devices foretells one on the processors"
}
XDG_STATE_HOME=$work/state.split
export XDG_STATE_HOME
named "$opencl"
named "$vulkan"

try 2 "$accelctl" plan "$f32" --set "placement=0-4=$(printf '%01000d' 7)"
one_error "a device is missing"
try 2 "$accelctl" run "$f32" --greedy -q -n 1 --prompt x --set "placement=0-1=cpu:cpu0"
one_error "the last layers are missing"
try 2 "$accelctl" run "$f32" --greedy -q -n 1 --prompt x --set "placement=0-1=cpu:cpu0,2-4=cpu:none"
one_error "there is no device cpu:none"
try 2 "$accelctl" plan "$f32" --set "placement=0-1=cpu0,2-4=cpu:cpu0"
one_error 'there is no device cpu0; did you mean "cpu:cpu0"?'

finish
