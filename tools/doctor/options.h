/* SPDX-License-Identifier: Apache-2.0 */
/* The options of accelctl doctor and snapshot, as their rows in tools/accelctl/commands fill them. */
#ifndef DOCTOR_OPTIONS_H
#define DOCTOR_OPTIONS_H

#include "tools/accelctl/common.h"

struct doctor_options {
    struct common common;
    uint32_t all;
    uint32_t measure;
};

struct snapshot_options {
    struct common common;
};

#endif
