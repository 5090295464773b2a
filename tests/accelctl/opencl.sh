# SPDX-License-Identifier: Apache-2.0
# The opencl driver through the command: the same greedy text as the cpu driver's on every OpenCL device that is there,
# compiled and from what is kept on disk; and what is said where no driver is installed. ACCEL_TEST_OPENCL_ICDS names
# drivers that are not installed for the system.
. "$ACCEL_TEST_SRCDIR/tests/accelctl/lib.sh"
[ -f "$ACCEL_TEST_BUILDDIR/plugins/opencl/opencl.la" ] || { echo "skipped: built without the opencl driver"; exit 77; }
XDG_CACHE_HOME=$work/cache
export XDG_CACHE_HOME

# Without any driver of OpenCL: devices says why, with a remedy, and the rest works.
OCL_ICD_VENDORS=/nowhere try 0 "$accelctl" plugins
if grep -q "OpenCL loader is not installed" "$work/out"; then
    echo "skipped: libOpenCL.so.1 is not installed"
    exit 77
fi
OCL_ICD_VENDORS=/nowhere try 0 "$accelctl" devices --all
has "cpu:cpu0"
if grep -q "^opencl:" "$work/out"; then
    echo "skipped: this loader finds drivers by other means than OCL_ICD_VENDORS"
    exit 77
fi
has "CL_PLATFORM_NOT_FOUND_KHR"
has "remedy: install the driver of the device's vendor"
OCL_ICD_VENDORS=/nowhere "$accelctl" doctor >"$work/out" 2>"$work/err"
has "CL_PLATFORM_NOT_FOUND_KHR"
has "remedy: install the driver of the device's vendor"
OCL_ICD_VENDORS=/nowhere try 4 "$accelctl" plan "$f32" --device opencl
grep -q "^  remedy: install the driver of the device's vendor" "$work/err" || fail "a plan has another remedy"
OCL_ICD_VENDORS=/nowhere try 4 "$accelctl" run "$f32" --device opencl -q -n 1 --prompt x
# Libraries of vendors abort a process that lacks memory: whatever the limit, a run on the processors is none of theirs.
limit=200000
while ! sanitized && [ $((limit += 10000)) -le 400000 ]; do
    try 0 sh -c "ulimit -v $limit; exec \"\$@\"" sh "$accelctl" run "$f32" --device cpu -q -n 1 --prompt x
done

# check DEVICE: everything of one device
check()
{
    device=$1
    # In one file with them, lines of progress stand before the text, and the prompt begins a line of its own.
    XDG_CACHE_HOME="$work/log" "$accelctl" run "$q8" --greedy -n 3 \
        --prompt "Once upon a time" --device "$device" --set opencl.precompile=false >"$work/out" 2>&1 </dev/null
    has "Once upon a time, there"
    grep -q '[^ ].*reading the prompt, and compiling kernels for its length\( \.\.\.\|:\)' "$work/out" && { cat "$work/out"; fail "progress within a text on $device"; }
    grep -q '^Once upon a time' "$work/out" || fail "the prompt does not begin a line on $device"
    # Warmed, nothing is left to compile; who waits without a terminal is told when it begins and when it is done.
    try 0 env XDG_CACHE_HOME="$work/warm" "$accelctl" cache warm "$q8" --device "$device"
    has ", 0 B before"
    # Loading is in the time too, and is quick.
    if sed -n 's/.* loaded and run in \([0-9.]*\) s; .*/\1/p' "$work/out" | awk '$1 > 4 { long = 1 } END { exit !long }'; then
        grep -q '^compiling kernels \.\.\.$' "$work/err" || fail "nothing says that kernels are being compiled"
        grep -qE '^compiling kernels: [0-9.]+ s$' "$work/err" || fail "nothing says that kernels have been compiled"
    fi
    try 0 env XDG_CACHE_HOME="$work/warm" "$accelctl" plan "$q8" --json --device "$device"
    has " kernels are cached, 0 are to be compiled"
    try 0 env XDG_CACHE_HOME="$work/warm" "$accelctl" cache clear opencl
    has "1 file removed"
    for model in "$q8" "$f32"; do
        try 0 "$accelctl" run "$model" --greedy -q -n 48 --prompt "Once upon a time" --device cpu
        text=$(cat "$work/out")
        try 0 "$accelctl" plan "$model" --device "$device" --out "$work/plan.json"
        try 0 "$accelctl" run "$model" --greedy -q -n 48 --prompt "Once upon a time" --device "$device"
        is "$(cat "$work/out")" "$text" "text of $model on $device"
        try 0 "$accelctl" run "$model" --greedy -q -n 48 --prompt "Once upon a time" --device "$device"
        is "$(cat "$work/out")" "$text" "text of $model on $device, kept kernels"
        # What is kept is told, and what the driver takes of the host's memory stands by its bytes.
        try 0 "$accelctl" plan "$model" --json --device "$device"
        has " kernels are cached, 0 are to be compiled"
        has "estimated by driver opencl: a record of every weight"
        has "a driver beside cpu makes a copy for its device from the pages of the mapped file"
        try 0 env XDG_CACHE_HOME="$work/nothing" "$accelctl" plan "$model" --json --device "$device"
        has '"program"'
        grep -qE '; 0 of [1-9][0-9]* kernels are cached, [1-9][0-9]* are to be' "$work/out" ||
            fail "a plan of $device without kept kernels does not say how many have to be compiled"
        # Of host memory, whose bound changes as kernels are compiled, a recorded plan may have another one that is in its
        # sum, and no other lower end.
        if ! command -v python3 >/dev/null 2>&1; then
            echo "skipped: python3 is not here to change a recorded plan"
            continue
        fi
        python3 - "$work" <<'END' || fail "the plan has no bound of host memory on $device"
import json, sys
for name, member, more in (("same", "bytes", 0), ("bound", "bytes", 1), ("sum", "bytes", 2**63 - 1), ("least", "lower", 1)):
    plan = json.load(open(sys.argv[1] + "/plan.json"))
    host, = (row for row in plan["memory"]["classes"] if row["class"] == "host")
    assert host["lower"] < host["bytes"]
    host[member] = min(host[member] + more, 2**63 - 1)
    for part in (plan["memory"], plan["verdict"]) if name == "bound" else ():
        part["needed"] += more
    json.dump(plan, open(sys.argv[1] + "/plan-%s.json" % name, "w"))
END
        for changed in same bound; do
            try 0 "$accelctl" run "$work/plan-$changed.json" --greedy -q -n 48 --prompt "Once upon a time"
            is "$(cat "$work/out")" "$text" "text of a recorded plan on $device, $changed"
        done
        for changed in sum least; do
            try 4 "$accelctl" run "$work/plan-$changed.json" --greedy -q -n 1 --prompt x
            one_error "when the plan is made again"
        done
    done
    # The others run on the vulkan driver, which has the same kernels, and here with ACCEL_TEST_ALL.
    try 0 env ACCEL_TEST_DEVICE="$device" \
        ACCEL_TEST_FIXTURES="llama-gqa gemma2-base mixtral-tiny gpt-oss-tiny" \
        "$ACCEL_TEST_BUILDDIR/tests/unit/session_fixtures"
    [ $failed = 0 ] || grep 'FAILED\|error' "$work/out" "$work/err"
    # A damaged file of kept kernels is compiled again.
    for kept in "$work"/cache/accel/kernels/opencl-*; do
        printf 'x' | dd of="$kept" bs=1 seek=300 conv=notrunc 2>/dev/null
    done
    try 0 "$accelctl" run "$f32" --greedy -q -n 48 --prompt "Once upon a time" --device "$device"
    is "$(cat "$work/out")" "$text" "text of $f32 on $device, damaged kernels"
    # In place of the file a pipe that nobody writes, and a link: the former stays unread, the latter is replaced.
    for kept in "$work"/cache/accel/kernels/opencl-*; do
        rm -f "$kept"
        mkfifo "$kept"
    done
    try 0 timeout 300 "$accelctl" run "$f32" --greedy -q -n 1 --prompt x --device "$device"
    target=$work/target
    : >"$target"
    for kept in "$work"/cache/accel/kernels/opencl-*; do
        rm -f "$kept"
        ln -s "$target" "$kept"
    done
    try 0 "$accelctl" run "$f32" --greedy -q -n 1 --prompt x --device "$device"
    is "$(wc -c <"$target" | tr -d ' ')" 0 "bytes written through a link"
    planned_is_used "$device" "$f32"
    # A recorded machine: what only the driver knows is said to be missing.
    try 0 "$accelctl" snapshot "$work/machine.json"
    try 0 "$accelctl" plan "$f32" --json --device "$device" --host "$work/machine.json"
    has "queues, copies and compiled kernels, which an exact plan includes"
    # What GPUs run: keys in parts, their merge, slices of large workgroups.
    try 0 "$accelctl" run "$f32" --greedy -q -n 48 --prompt "Once upon a time" --device "$device" \
        --set opencl.arrangement=gpu
    is "$(cat "$work/out")" "$text" "text of $f32 on $device as on GPUs"
    # As profiles of devices cut them, and without subgroups where the device has them; the test of the vulkan driver always
    # runs its like.
    if [ -n "${ACCEL_TEST_ALL-}" ]; then
        try 0 "$accelctl" run "$f32" --greedy -q -n 48 --prompt "Once upon a time" --device "$device" \
            --set opencl.arrangement=gpu --set opencl.features=-subgroup,-dot \
            --set opencl.tuning=row-group=64,attention=32,slices=4,parts=4
        is "$(cat "$work/out")" "$text" "text of $f32 on $device as tuned"
    fi
    rounds_rows "$device"
    compiled_by_use "$device"
    try 0 "$accelctl" plan "$f32" --all --device "$device"
    has "FITS on $device"
    has "estimated by driver opencl: planes of weights"
    # Kernels with the types that they read, as the cpu driver prints them.
    has "  embed f32 "
    grep -qE "^  matmul f32 x (f32|f16|q8) +36 nodes" "$work/out" || fail "no types of matmul on $device"
}

# Devices of the drivers that are installed, and of those in the folders of .icd files that ACCEL_TEST_OPENCL_ICDS names,
# ':' between them: OCL_ICD_VENDORS is each in turn.
found=0
check_all()
{
    try 0 "$accelctl" devices
    devices=$(sed -n 's/^\(opencl:[^ ]*\) .*/\1/p' "$work/out")
    for one in $devices; do
        found=$((found + 1))
        check "$one"
        echo "checked: $one"
    done
    [ -n "$devices" ] || echo "skipped: $1"
}
check_all "no OpenCL driver is installed"
if [ -n "${ACCEL_TEST_OPENCL_ICDS-}" ]; then
    folders=$(echo "$ACCEL_TEST_OPENCL_ICDS" | tr ':' ' ')
    for folder in $folders; do
        OCL_ICD_VENDORS=$folder
        export OCL_ICD_VENDORS
        before=$found
        check_all "there is no device of the drivers in $folder"
        [ $found -gt $before ] || fail "ACCEL_TEST_OPENCL_ICDS: no device of the drivers in $folder"
    done
else
    echo "skipped: other OpenCL drivers (Intel's for CPUs): ACCEL_TEST_OPENCL_ICDS names no folder of .icd files"
fi
[ $found != 0 ] || exit 77
finish
