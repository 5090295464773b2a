#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Races: kernels of the opencl driver under Oclgrind, which watches every access of every work item, and what the vulkan
# driver records under the synchronization checks of the validation layer, arranged as on CPUs and as on GPUs. Before it a
# kernel that does race has to be found. ACCEL_RACES=kernels runs cases of every kernel (two minutes where nothing else
# runs), ACCEL_RACES=all all cases of many types (hours); without it a few cases of the kernels that share local memory.
# ACCEL_RACES_BY=opencl or vulkan runs one half alone. Seconds of each entry are printed.
. "$ACCEL_TEST_SRCDIR/tests/accelctl/lib.sh"
kit=$ACCEL_TEST_BUILDDIR/accel-conform
opencl=$ACCEL_TEST_BUILDDIR/plugins/opencl/.libs/opencl.so
vulkan=$ACCEL_TEST_BUILDDIR/plugins/vulkan/.libs/vulkan.so
XDG_RUNTIME_DIR=${XDG_RUNTIME_DIR-$work}
export XDG_RUNTIME_DIR
ran=0

# A test of the kit and how many of its cases; with a question mark: not every driver claims it.
some="rms_norm/*:2 softmax/*:1 argmax/*:1 matmul/q8_0:2 attention/f16:1 cache_write/q8_g32:1"
kernels="rms_norm/*:3 layer_norm/*:3 softmax/*:3 argmax/*:3 add/*:4 mul/*:4 activation/silu:3 gate/silu:3 gather/*:3
    rotary/*:3 embed/q4_0:2 embed/q6_k:2 embed/q3_g64a:2 matmul/f16:5 matmul/q8_0:5 matmul/q4_k:3 matmul/q3_g64a:5
    cache_write/f32:2 cache_write/f16:2 cache_write/q8_g32:2 cache_write/q4_g32:2 attention/f32:1 attention/f16:1
    attention/q8_g32:1 attention/q4_g32:1 attention_mask/f16?:1 attention_mass/f16?:1"
all="rms_norm/*:0 layer_norm/*:0 softmax/*:0 argmax/*:0 add/*:0 mul/*:0 activation/*:0 gate/*:0 gather/*:0 rotary/*:0
    embed/*:4 matmul/*:8 cache_write/*:3 attention/*:8 attention_mask/*?:4 attention_mass/*?:4 whole/*:0"
case ${ACCEL_RACES-} in
all) some=$all ;;
kernels) some=$kernels ;;
esac
by=${ACCEL_RACES_BY-opencl vulkan}

# watch DRIVER OPTION...: no failure, and nothing in the log.
watch()
{
    driver=$1
    shift
    for entry in $some; do
        rm -f "$work/log"
        begin=$(date +%s)
        name=${entry%:*}
        try 0 "$kit" "$driver" --filter "${name%\?}" --cases "${entry#*:}" --rounds 0 --seed 21 --deadline 1200 "$@"
        case $name in *\?) ;; *) grep -q '^in all  *[1-9]' "$work/out" || fail "nothing of $name was run" ;; esac
        if [ -s "$work/log" ]; then
            head -c 1500 "$work/log"
            fail "races in $name $*"
        fi
        echo "$(basename "$driver" .so) $name $*: $(($(date +%s) - begin)) s"
    done
    ran=$((ran + 1))
}

# A program that is started by the oclgrind command may not open libOpenCL itself: it is loaded as a driver instead.
set -f
oclgrind=
for library in /usr/lib/oclgrind /usr/lib/x86_64-linux-gnu/oclgrind /usr/local/lib/oclgrind; do
    [ -f "$library/liboclgrind-rt-icd.so" ] && oclgrind=$library/liboclgrind-rt-icd.so
done
case $by in *opencl*) ;; *) oclgrind= ;; esac
if [ -f "$opencl" ] && [ -n "$oclgrind" ]; then
    mkdir "$work/vendors"
    echo "$oclgrind" >"$work/vendors/oclgrind.icd"
    OCL_ICD_VENDORS=$work/vendors
    OCLGRIND_DATA_RACES=1
    OCLGRIND_MAX_ERRORS=4
    OCLGRIND_LOG=$work/log
    # Its interpreter knows less than its optimizer makes.
    OCLGRIND_BUILD_OPTIONS=-cl-opt-disable
    export OCL_ICD_VENDORS OCLGRIND_DATA_RACES OCLGRIND_MAX_ERRORS OCLGRIND_LOG OCLGRIND_BUILD_OPTIONS
    "$kit" "$opencl" --filter 'argmax/*' --cases 1 --seed 1 >"$work/out" 2>&1
    if grep -q 'Oclgrind' "$work/out"; then
        # The check is able to find one: a sum without its barrier; with it there is nothing.
        racy=$ACCEL_TEST_BUILDDIR/tests/conform/racy
        rm -f "$work/log"
        try 0 "$racy" without
        grep -q 'race' "$work/log" || fail "the kernel that races is not found"
        rm -f "$work/log"
        try 0 "$racy" with
        [ -s "$work/log" ] && fail "a race is found where there is none: $(head -c 500 "$work/log")"
        watch "$opencl"
        watch "$opencl" --set arrangement=gpu
    else
        echo "skipped: this OpenCL loader does not find Oclgrind by OCL_ICD_VENDORS"
    fi
    OCL_ICD_VENDORS=/nonexistent
else
    echo "skipped: Oclgrind or the opencl driver is not here"
fi

set +f
layer=/usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json
for icd in /usr/share/vulkan/icd.d/lvp_icd*.json; do
    case $by in *vulkan*) ;; *) break ;; esac
    [ -f "$icd" ] && [ -f "$layer" ] && [ -f "$vulkan" ] || continue
    VK_ICD_FILENAMES=$icd
    unset VK_DRIVER_FILES
    set -f
    watch "$vulkan" --set validation=true
    watch "$vulkan" --set validation=true --set arrangement=gpu
    break
done
[ $ran != 0 ] || { echo "skipped: neither Oclgrind nor the Vulkan validation layer is here, or no driver was built"; exit 77; }
finish
