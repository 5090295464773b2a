/* SPDX-License-Identifier: Apache-2.0 */
/** @file A driver of several devices that are not there: tests say what they have and what they can do. */
#ifndef ACCEL_TESTS_UNIT_PLAN_FARM_H
#define ACCEL_TESTS_UNIT_PLAN_FARM_H

#include "tests/unit/device_support.h"

#define FARM_DEVICES 4u

/** One device: "farm:ID". */
struct farm_device {
    struct accel_driver_device device; /* first */
    struct farm *farm;
    const char *id;
    uint32_t kind; /* ACCEL_DEVICE_... */
    uint32_t flags;
    uint64_t bytes;   /* of its heap; of the host's where the kind is CPU */
    uint64_t binding; /* most that it binds at a time; 0: no limit */
    uint32_t threads;
    uint32_t lacks_f16; /* 1: its matrices read F32 and Q4_0 alone */
};

/** The driver's state. Tests fill `devices` and `count` before farm_driver. */
struct farm {
    struct accel_driver_instance instance; /* first */
    struct farm_device devices[FARM_DEVICES];
    uint32_t count;
    uint32_t op;         /* operator that gets `answer`; all others are native */
    uint32_t answer;     /* ACCEL_CLAIM_... */
    const char *kernel;  /* of attention; NULL: "attention" */
    uint64_t free_bytes; /* what a device says is free; 0: all of it */
};

/** Makes the driver that shows `farm`; one at a time. */
const struct accel_driver *farm_driver(struct farm *farm);

/** Attention over a cache of keys and values in F16, and one write into it. */
struct farm_graph {
    struct accel_builder *builder;
    const struct accel_graph *graph;
};

void farm_graph_make(struct farm_graph *out_graph);

/** Places the graph. */
int32_t farm_place(struct accel_plan *plan, const struct farm_graph *graph, struct accel_error *error);

#endif
