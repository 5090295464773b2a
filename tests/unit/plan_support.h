/* SPDX-License-Identifier: Apache-2.0 */
/** @file A driver that answers as a test tells it, and the graph that tests of plans place on it. */
#ifndef ACCEL_TESTS_UNIT_PLAN_SUPPORT_H
#define ACCEL_TESTS_UNIT_PLAN_SUPPORT_H

#include "tests/unit/device_support.h"

/** What the driver says. Tests set it; the driver reads it through its instance, so that it is no hidden state. */
struct scripted {
    struct accel_driver_instance instance; /* first */
    struct accel_driver_device device;
    uint32_t answer; /* of the node `node`; of all others NATIVE */
    uint32_t node;
    uint32_t silent;        /* node that is passed over, or ACCEL_NO_VALUE */
    uint32_t weights;       /* ACCEL_RESIDENT ... */
    uint32_t precision;     /* of its claims */
    uint32_t flags;         /* of the device */
    uint32_t threads;       /* of its limits */
    uint64_t most_buffer;   /* of its limits; 0: more than it has memory */
    uint64_t most_binding;  /* the same */
    const char *kernel;     /* what it calls its kernels; NULL: "add_f32" */
    char options[128];      /* what it was last opened with: "precompile=0 subgroups=off " */
    const char *refuses[2]; /* options that it is not opened with: "subgroups=on "; NULL: none */
    uint32_t opened;
    uint32_t claims;    /* calls of the slot */
    uint32_t estimates; /* the same */
    uint64_t bucket;    /* first one that claim was given */
};

/** Makes the driver that follows `script`; one at a time. `with_estimate` 1: it estimates; 2: and makes buffers. */
const struct accel_driver *scripted_driver(struct scripted *script, uint32_t with_estimate);

#endif
