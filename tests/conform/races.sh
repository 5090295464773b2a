#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Races: kernels of the opencl driver under Oclgrind, which watches every access of every work item, and what the vulkan
# driver records under the synchronization checks of the validation layer, arranged as on CPUs and as on GPUs. Before it a
# kernel that does race has to be found. ACCEL_RACES=kernels runs cases of every kernel, ACCEL_RACES=all small cases of
# every operator and type, of those that go through tiles too; it may be a list of the form below itself, to go on where
# a run was ended. Without it a few cases of the kernels that share local memory. ACCEL_RACES_BY=opencl or vulkan runs one
# half alone. Seconds of each test are printed.
. "$ACCEL_TEST_SRCDIR/tests/accelctl/lib.sh"
kit=$ACCEL_TEST_BUILDDIR/.libs/accel-conform
opencl=$ACCEL_TEST_BUILDDIR/plugins/opencl/.libs/opencl.so
vulkan=$ACCEL_TEST_BUILDDIR/plugins/vulkan/.libs/vulkan.so
XDG_RUNTIME_DIR=${XDG_RUNTIME_DIR-$work}
export XDG_RUNTIME_DIR
ran=0

# Tests of the kit and which of their cases, FIRST-LAST; with a question mark: not every driver claims it. Of a matmul, 4 is
# one row of x, 7 two rows with a bias, which is F16 for half of the types and then not claimed, 8 two rows without one, 13 so
# many that they go through tiles of local memory. Of attention, 2 is a long prompt, 3 a token with so many keys that GPUs
# take them in parts and merge these, 4 prompts of three sequences.
some="rms_norm/*:10-10 softmax/*:4-4 argmax/*:4-4 matmul/q8_0:4-4 matmul/q8_0:13-13 attention/f16:3-3 cache_write/q8_g32:2-2"
kernels="rms_norm/*:9-13 layer_norm/*:9-13 softmax/*:3-5 argmax/*:3-5 add/*:1-4 mul/*:1-4 activation/silu:1-3 gate/silu:1-3
    gather/*:1-3 rotary/*:1-3 embed/q4_0:1-2 embed/q6_k:1-2 embed/q3_g64a:1-2
    matmul/f16:3-7 matmul/q8_0:3-7 matmul/q4_k:4-4 matmul/q4_k:7-8 matmul/q3_g64a:3-8
    matmul/f16:13-14 matmul/q8_0:13-14 matmul/q4_k:13-13 matmul/q3_g64a:13-14
    cache_write/f32:1-2 cache_write/f16:1-2 cache_write/q8_g32:1-2 cache_write/q4_g32:1-2
    attention/f32:3-4 attention/f16:2-4 attention/q8_g32:3-3 attention/q4_g32:3-3
    attention_mask/f16?:1-2 attention_score_sums/f16?:1-2
    reduce/sum:1-3 reduce/max_segments:1-2 top_k/values:1-4 group_norm/*:1-3 dense_attention/plain:1-2 dense_attention/sink:1-1
    expert_matmul/q4_0:1-3 expert_matmul/routing:1-2 conv/q4_0:1-3 concat/f32:1-2 pad/mirror:1-2 pool/max:1-2 resize/cubic:1-2
    attention_sink/f32?:1-2 attention_slope/f32?:1-2"
all="rms_norm/*:1-30 layer_norm/*:1-30 softmax/*:1-12 argmax/*:1-12 add/*:1-36 mul/*:1-36 activation/*:1-9 gate/*:1-9
    gather/*:1-9 rotary/*:1-9 embed/*:1-3 cache_write/*:1-3 attention_mask/*?:1-2 attention_score_sums/*?:1-2
    whole/*:1-4 matmul/*:4-4 matmul/*:7-8 matmul/*:13-13 attention/*:3-4 attention_sink/*?:1-2 attention_slope/*?:1-2
    reduce/*:1-3 top_k/*:1-4 group_norm/*:1-3 dense_attention/*:1-1 expert_matmul/*?:1-3 conv/*?:1-3 concat/*:1-2 slice/*:1-2
    permute/*:1-2 pad/*:1-2 scale/*:1-2 clamp/*:1-2 pool/*:1-2 resize/*:1-2"
case ${ACCEL_RACES-} in
all) some=$all ;;
kernels) some=$kernels ;;
*:*) some=$ACCEL_RACES ;;
esac
by=${ACCEL_RACES_BY-opencl vulkan}

# watch DRIVER OPTION...: no failure, and nothing in the log. Each test by itself: what was done is printed as it is done.
watch()
{
    driver=$1
    shift
    for entry in $some; do
        name=${entry%:*}
        last=${entry##*-}
        first=${entry##*:}
        first=${first%-*}
        taken=0
        for test in $("$kit" --list --filter "${name%\?}"); do
            rm -f "$work/log"
            begin=$(date +%s)
            try 0 "$kit" "$driver" --filter "$test" --from "$first" --cases $((last + 1 - first)) --rounds 0 --seed 21 \
                --deadline 1200 "$@"
            if [ -s "$work/log" ]; then
                head -c 1500 "$work/log"
                fail "races in $test $*"
            fi
            cases=$(sed -n 's/^in all *[0-9]* *[0-9]* *[0-9]* *[0-9]* *[0-9]* *\([0-9]*\) .*/\1/p' "$work/out")
            taken=$((taken + ${cases:-0}))
            echo "$(basename "$driver" .so) $test, cases $first to $last $*: ${cases:-0} run, $(($(date +%s) - begin)) s"
        done
        case $name in *\?) ;; *) [ "$taken" != 0 ] || fail "nothing of $name was run" ;; esac
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
