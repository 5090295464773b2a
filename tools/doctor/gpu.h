/* SPDX-License-Identifier: Apache-2.0 */
/* Answers whether the GPU is used, and if not, why not. */
#ifndef DOCTOR_GPU_H
#define DOCTOR_GPU_H

#include "tools/doctor/doctor.h"

/* Answer about GPUs and NPUs: all devices except the CPU. */
struct gpu_answer {
    const char *state;  /* "used", "behind" (another device ranks higher), "refused", "software" or "none" */
    const char *device; /* its name, or empty */
    char text[900];
    char remedy[600]; /* empty if the device is used */
};

/* Derives the answer from the devices of the context and the doctor's rows. */
void find_gpu_answer(const struct accel_context *context, const struct accel_doctor *doctor, struct gpu_answer *answer);

#endif
