#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Half of the layers on each of two devices, through the command: the same greedy text as on the processors alone, for
# every pair of drivers that has a device here; what the plan says of it; and what is refused.
. "$ACCEL_TEST_SRCDIR/tests/accelctl/lib.sh"
XDG_CACHE_HOME=$work/cache
export XDG_CACHE_HOME

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
    try 0 "$accelctl" plan "$f32" --set "placement=0-1=$1,2-4=$2"
    has "256 bytes of each token cross from $1 to $2"
    try 0 "$accelctl" run "$f32" --greedy -q -n 48 --prompt "Once upon a time" --set "placement=0-1=$1,2-4=$2"
    is "$(cat "$work/out")" "$text" "text of layers on $1 and $2"
}
pair cpu:cpu0 "$opencl" "cpu and opencl"
pair "$opencl" cpu:cpu0 "opencl and cpu"
pair cpu:cpu0 "$vulkan" "cpu and vulkan"
pair "$vulkan" cpu:cpu0 "vulkan and cpu"
pair "$opencl" "$vulkan" "opencl and vulkan"

try 2 "$accelctl" run "$f32" --greedy -q -n 1 --prompt x --set "placement=0-1=cpu:cpu0"
one_error "the last layers are missing"
try 2 "$accelctl" run "$f32" --greedy -q -n 1 --prompt x --set "placement=0-1=cpu:cpu0,2-4=cpu:none"
one_error "there is no device cpu:none"

finish
