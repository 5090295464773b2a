#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# doctor and snapshot as a user calls them: on this machine, on recorded ones, with folders and processors taken away.
. "$ACCEL_TEST_SRCDIR/tests/accelctl/lib.sh"

hosts=$src/tests/topologies
XDG_STATE_HOME=$work/state
export XDG_STATE_HOME

# rows STATE: how many the document in $work/out has of a state
rows()
{
    value "tally.$1"
}

# This machine: whatever it is, the document says as much as the exit status.
"$accelctl" doctor --json >"$work/out" 2>"$work/err"
status=$?
"$json" "$work/out" accelctl/doctor/1 || fail "doctor --json"
[ -s "$work/err" ] && { cat "$work/err"; fail "doctor --json writes to the error output"; }
if [ "$(rows bad)" = 0 ]; then is $status 0 "the status of a machine without bad rows"; else is $status 6 "the status of a machine with bad rows"; fi
"$accelctl" doctor --all >"$work/out" 2>"$work/err"
has "system"
has "threads: "
has " are available"
has "is device cpu:cpu0"
grep "$(printf '\033')" "$work/out" && fail "doctor prints colours into a file"
[ -z "$(ls -A "$work/state" 2>/dev/null)" ] || fail "doctor writes into the folder of measurements without --measure"

# A folder that cannot be written: a row that names it, and no failure. Root may write everywhere, but not below a file.
: >"$work/file"
XDG_CACHE_HOME=$work/file "$accelctl" doctor >"$work/out" 2>"$work/err"
has "$work/file/accel: cannot be written"
has "set XDG_CACHE_HOME to a folder"
XDG_CACHE_HOME=$work/file "$accelctl" run "$q8" -n 1 Once >"$work/out" 2>"$work/err"
grep -qxF "cache      not used: $work/file/accel: Not a directory; set XDG_CACHE_HOME to a folder that you may write to" "$work/err" ||
    { cat "$work/err"; fail "run with a cache that cannot be written"; }
# A path that is not absolute is ignored, and not in silence. No file system of the kernel takes folders.
XDG_CACHE_HOME=cache HOME=$work "$accelctl" doctor --all >"$work/out" 2>"$work/err"
has "$work/.cache/accel: is used, since XDG_CACHE_HOME=cache is no absolute path"
XDG_CACHE_HOME=cache HOME=$work "$accelctl" run "$q8" -n 1 Once >"$work/out" 2>"$work/err"
grep -qxF "cache      XDG_CACHE_HOME=cache is no absolute path and ignored: $work/.cache/accel is used" "$work/err" ||
    { cat "$work/err"; fail "run with a relative XDG_CACHE_HOME"; }
XDG_STATE_HOME=/proc/x "$accelctl" doctor --all >"$work/out" 2>"$work/err"
has "/proc/x/accel: cannot be written ("
# Profiles that are not there.
mkdir "$work/empty"
ACCEL_PROFILE_PATH=$work/empty "$accelctl" doctor >"$work/out" 2>"$work/err"
is $? 6 "the status without profiles"
has "doctor.yaml: cannot open"
# A driver that is not trusted: it is writable by every user.
mkdir "$work/drivers"
cp "$ACCEL_TEST_BUILDDIR/plugins/cpu/.libs/cpu.so" "$work/drivers/open.so"
chmod 666 "$work/drivers/open.so"
"$accelctl" doctor --drivers "$work/drivers" >"$work/out" 2>"$work/err"
is $? 6 "the status with a driver that is not trusted"
has "not trusted: it is writable"
has "chmod go-w '$work/drivers/open.so'"
if command -v taskset >/dev/null && [ "$(nproc)" -gt 1 ]; then
    cpu=$(taskset -cp $$ | sed 's/.*: \([0-9]*\).*/\1/')
    taskset -c "$cpu" "$accelctl" doctor >"$work/out" 2>"$work/err"
    has "1 of "
    has "hardware threads may be used: $cpu"
else
    echo "skipped: taskset or a second processor is not here"
fi

# Why the GPU is not used: one line, and its remedy.
# gpu RECORDING STATE DEVICE WORDS REMEDY
gpu()
{
    "$accelctl" doctor --host "$hosts/$1.json" --json >"$work/out" 2>"$work/err"
    is "$(value gpu.state) $(value gpu.device)" "$2 $3" "what $1 says of its GPU"
    checks=$((checks + 1))
    case $(value gpu.text) in *"$4"*) ;; *) fail "what $1 says of its GPU: $(value gpu.text)" ;; esac
    case $(value gpu.remedy) in *"$5"*) ;; *) fail "its remedy: $(value gpu.remedy)" ;; esac
    "$accelctl" doctor --host "$hosts/$1.json" >"$work/out" 2>"$work/err"
    is "$(grep -c '^GPU: ' "$work/out")" 1 "lines of $1 about its GPU"
}
gpu gpu-without-driver refused '' "kernel module nouveau drives it, not nvidia" "install NVIDIA's driver"
gpu gpu-node-closed refused '' "is not used: /dev/kfd is not readable by this user" "add the user to group render"
gpu board-arm refused '' "no driver of accel that could use it is loaded" "install the driver plugin vulkan or opencl"
# Every driver of the table is in this tree, or no release has it and no remedy installs it.
later=$(sed -n 's/^later: \[\(.*\)\]$/\1/p' "$src/profiles/doctor.yaml" | tr -d ,)
for driver in $later $(sed -n 's/^ *drivers: \[\(.*\)\]$/\1/p' "$src/profiles/doctor.yaml" | tr -d ,); do
    case " $later " in
    *" $driver "*) [ ! -d "$src/plugins/$driver" ] || fail "doctor.yaml: $driver is there" ;;
    *) [ -d "$src/plugins/$driver" ] || fail "doctor.yaml: there is no driver $driver" ;;
    esac
done
"$accelctl" doctor --host "$hosts/gpu-without-driver.json" >"$work/out" 2>"$work/err"
tr -s ' \n' '  ' <"$work/out" >"$work/line"
grep -qF "install the driver plugin vulkan or opencl of accel; no release has the driver cuda yet" "$work/line" ||
    { cat "$work/out"; fail "a driver that does not exist is a remedy"; }
gpu two-sockets none '' "no GPU found" "pass it to the container"
gpu server-8-gpus used cuda:0000:34:00.0 "Tesla V100-SXM3-32GB, was used by the driver cuda, which no release of accel has yet" ""
# A profile that puts the processors in front of it.
cp -r "$src/profiles" "$work/profiles"
chmod -R u+w "$work/profiles"
sed -i 's/device.rank: 100}/device.rank: 900}/' "$work/profiles/base.yaml"
ACCEL_PROFILE_PATH=$work/profiles
export ACCEL_PROFILE_PATH
gpu laptop-hybrid behind vulkan:0000:00:02.0 "works but is not chosen automatically: cpu:cpu0 ranks higher" "--device vulkan:0000:00:02.0"
unset ACCEL_PROFILE_PATH
gpu laptop-hybrid used vulkan:0000:00:02.0 "ranks first" ""
# A profile that cannot be used moves no model to the next device: nothing is chosen, and the row says why.
for driver in cpu vulkan; do
    rm -rf "$work/broken"
    cp -r "$src/profiles" "$work/broken"
    chmod -R u+w "$work/broken"
    echo "nonsense: 1" >>"$work/broken/$driver.yaml"
    line=$(($(wc -l <"$src/profiles/$driver.yaml") + 1))
    for call in "plan $q8" "run $q8 -n 1"; do
        try 3 "$accelctl" $call --host "$hosts/laptop-hybrid.json" --profiles "$work/broken"
        one_error "cannot be ranked, so that the best device is not known: $work/broken/$driver.yaml:$line:"
        grep -q '^  remedy: correct the profile or variable, or choose by --device; here are ' "$work/err" || fail "no remedy: $call"
    done
    try 6 "$accelctl" doctor --host "$hosts/laptop-hybrid.json" --profiles "$work/broken" --json
    ACCEL_PROFILE_PATH=$work/broken gpu laptop-hybrid refused vulkan:0000:00:02.0 "cannot be ranked or planned for" ""
    has "NEEDS A REMEDY"
done
# The other device may be named.
try 0 "$accelctl" plan "$q8" --device cpu --host "$hosts/laptop-hybrid.json" --profiles "$work/broken"
try 3 "$accelctl" plan "$q8" --device vulkan --host "$hosts/laptop-hybrid.json" --profiles "$work/broken"

# Drivers that are refused or bring no device are named in the first line.
mkdir "$work/wants"
chmod 755 "$work/wants"
cp "$ACCEL_TEST_BUILDDIR/tests/mock/.libs/missing_symbol.so" "$work/wants/"
"$accelctl" doctor --drivers "$work/wants" >"$work/out" 2>"$work/err"
case $(head -n 1 "$work/out") in
"GOOD for cpu:cpu0; "*" not used ("*missing-symbol*"): 0 bad, 0 to improve"*) ;;
"WORKS, COULD BE BETTER: "* | "NEEDS A REMEDY: "*) ;; # of this machine
*) fail "the first line of doctor beside a refused driver: $(head -n 1 "$work/out")" ;;
esac

# Snapshots.
try 3 "$accelctl" doctor --host "$src/README.md"
one_error "README.md: is no snapshot of a machine"
grep -q '^  remedy: write one on the machine to be described: accelctl snapshot FILE.json' "$work/err" || fail "no remedy for what is no snapshot"
(umask 077 && try 0 "$accelctl" snapshot "$work/here.json")
is "$(stat -c %a "$work/here.json")" 600 "the mode of a snapshot under the umask 077"
(umask 022 && try 0 "$accelctl" snapshot "$work/here.json")
is "$(stat -c %a "$work/here.json")" 644 "the mode of a snapshot under the umask 022"
has "$work/here.json"
try 0 "$accelctl" snapshot "$work/here.json" --json
is "$(value path)" "$work/here.json" "the path of a snapshot"
try 0 "$accelctl" snapshot
"$json" "$work/out" accel/snapshot/1 || fail "a snapshot is no JSON document with its schema"
try 0 "$accelctl" devices --host "$work/here.json"
has "recorded machine $work/here.json"
has "cpu:cpu0"
try 0 "$accelctl" plugins --host "$work/here.json"
has "cpu"
try 1 "$accelctl" snapshot "$work/none/here.json"
one_error "$work/none/here.json"
try 3 "$accelctl" devices --host "$work/none.json"
one_error "none.json"
head -c 3000 "$work/here.json" >"$work/cut.json"
try 3 "$accelctl" doctor --host "$work/cut.json"
one_error "cut.json:"
try 2 "$accelctl" snapshot a b

# Recorded machines: exit status, a row, a device.
while read -r name wanted device words; do
    "$accelctl" doctor --host "$hosts/$name.json" >"$work/out" 2>"$work/err"
    is $? "$wanted" "the status of doctor for $name"
    tr -s ' \n' ' ' <"$work/out" >"$work/line" && mv "$work/line" "$work/out"
    has "$words"
    try 0 "$accelctl" devices --host "$hosts/$name.json" --all
    has "$device"
    # A model cannot run there, and the refusal names device and recording.
    "$accelctl" run "$q8" -n 1 --host "$hosts/$name.json" --device "$device" >"$work/out" 2>"$work/err"
    is $? 4 "the status of run on $name"
    one_error "$device belongs to a recorded machine"
done <<END
laptop-hybrid 0 vulkan:0000:00:02.0 WORKS, COULD BE BETTER
server-8-gpus 0 cuda:0000:5e:00.0 write /usr/local/cuda/lib64 into a file of /etc/ld.so.conf.d
container-quota 0 cpu:cpu0 the time of 1.5 processors, of 6
board-arm 6 cpu:cpu0 no driver of accel that could use it is loaded
desktop-two-gpus 0 cuda:0000:01:00.0 GOOD as recorded; no release has the driver cuda yet: 0 bad
two-sockets 0 cpu:cpu0 GOOD for cpu:cpu0; no GPU found: 0 bad
gpu-without-driver 6 cpu:cpu0 kernel module nouveau drives it, not nvidia
gpu-node-closed 6 cpu:cpu0 remedy: add the user to group render
END

# Plans for recorded machines, by description: status, device, and that nothing of this host's past is in them.
while read -r name wanted words; do
    try "$wanted" "$accelctl" plan llama-2-7b --host "$hosts/$name.json"
    has "$words"
    grep -q "belongs to a recorded machine" "$work/out" || fail "the plan for $name does not say that it was recorded"
    try 0 "$accelctl" plan "$q8" --host "$hosts/$name.json"
    has "FITS on"
    grep -q "^past" "$work/out" && fail "the plan for $name tells of the past of this host"
done <<END
laptop-hybrid 0 FITS on vulkan:0000:00:02.0
server-8-gpus 0 FITS on cuda:0000:34:00.0
container-quota 5 of 3.71 GiB
board-arm 5 of 253.9 MiB
desktop-two-gpus 0 FITS on cuda:0000:01:00.0
gpu-without-driver 0 FITS on cpu:cpu0
gpu-node-closed 0 FITS on cpu:cpu0
END
for platform in cuda rocm vulkan openvino webgpu; do
    try 0 "$accelctl" plan tinyllama-1.1b --platform $platform --host "$hosts/gpu-node-closed.json"
    has " on $platform: needs "
done
try 0 "$accelctl" devices --host "$hosts/board-arm.json" --json
is "$(value host)" "$hosts/board-arm.json" "the host of the document"
try 0 "$accelctl" plan llama-2-70b --host "$hosts/server-8-gpus.json" --set placement=balanced
has "memory of 8 devices"

# Measured: about a second, and kept.
if "$accelctl" doctor --measure --json >"$work/out" 2>"$work/err"; then
    [ "$(value bandwidth.passes)" -ge 3 ] || fail "passes of the measurement"
    grep -q '"kind":"bandwidth"' "$work/state/accel/history.jsonl" || fail "the measurement is not kept"
else
    grep -q "bytes to measure with\|a quarter of what is free" "$work/out" "$work/err" || is "$(rows bad)" 0 "bad rows"
fi
try 3 "$accelctl" doctor --measure --host "$hosts/board-arm.json"
one_error "recorded machine cannot be measured"
finish
