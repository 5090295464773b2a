#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Where a plan has its threads on recorded machines: one on each core, second hardware threads left free, sockets filled
# one after the other, memory nodes named, fast cores before slow ones; as text and as JSON.
. "$ACCEL_TEST_SRCDIR/tests/accelctl/lib.sh"

# plan_on MACHINE [OPTION...]
plan_on() {
    machine=$ACCEL_TEST_SRCDIR/tests/topologies/$1.json
    shift
    try 0 "$accelctl" plan llama-2-7b --all --device cpu --host "$machine" "$@"
}

# Two sockets: all cores, no second hardware thread.
plan_on two-sockets
has "threads    16, not pinned"
has "  package 0, memory node 0: 8 threads on 8 cores, processors 0-7; left free: 16-23"
has "  package 1, memory node 1: 8 threads on 8 cores, processors 8-15; left free: 24-31"
has "  pages of weights lie on the memory node whose thread touches them first"
plan_on two-sockets --json
is "$(value cores.1.package)" 1 "the second socket"
is "$(value cores.1.node)" 1 "its memory"
is "$(value cores.1.cores)" 8 "its cores"
is "$(value cores.1.threads)" 8 "its threads"
is "$(value cores.1.processors)" 8-15 "where they are"
is "$(value cores.1.idle)" 24-31 "what is left free"

# Fewer threads stay on one socket, near one memory node; more than cores take second hardware threads.
plan_on two-sockets --set cpu.threads=6
has "  package 0, memory node 0: 6 threads on 8 cores, processors 0-5; left free: 6-7,16-23"
has "  package 1, memory node 1: 0 threads on 8 cores; left free: 8-15,24-31"
grep -q "touches them first" "$work/out" && fail "threads near one memory node were told of two"
plan_on two-sockets --set cpu.threads=18
has "  package 0, memory node 0: 10 threads on 8 cores, processors 0-7,16-17; left free: 18-23"

# Two kinds of cores, the fast ones with two hardware threads each.
plan_on laptop-hybrid
has ", fast: 6 threads on 6 cores, processors "
has "slow: 8 threads on 8 cores, processors "
has "  threads fetch parts of an operator as they come: those on slower cores do fewer"
plan_on laptop-hybrid --set cpu.threads=6
has "fast: 6 threads on 6 cores, processors "
has "slow: 0 threads on 8 cores; left free: "

# One kind, nothing left free: the list of processors says it all.
try 5 "$accelctl" plan llama-2-7b --all --device cpu --host "$ACCEL_TEST_SRCDIR/tests/topologies/board-arm.json"
has "threads    "
grep -q "^  package" "$work/out" && fail "a board of one kind of cores lists groups"
# A placement that a profile recommends yields to the user's gpu.layers.
try 0 "$accelctl" plan llama-2-7b --platform cuda --device t4 -ngl 99
has "FITS on cuda: "
try 0 "$accelctl" plan llama-2-70b --platform cuda --device 2xa100 -ngl 99
has "FITS on cuda:0, cuda:1: "
try 2 "$accelctl" plan llama-2-70b --platform cuda --device 2xa100 -ngl 99 --set placement=balanced
one_error "placement assigns the layers already"
finish
