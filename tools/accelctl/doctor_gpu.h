/* SPDX-License-Identifier: Apache-2.0 */
/* The question that a person comes to the doctor with: is the GPU used, and if not, why not? */
#ifndef ACCELCTL_DOCTOR_GPU_H
#define ACCELCTL_DOCTOR_GPU_H

#include <accel/doctor.h>

/* GPUs and NPUs: whatever computes and is not the processors. */
struct gpu_answer {
    const char *state;  /* "used", "behind" (another device ranks higher), "refused", "software" or "none" */
    const char *device; /* its name, or empty */
    char text[900];
    char remedy[600]; /* empty where it is used */
};

/* From the devices of the context and the doctor's rows. */
void find_gpu_answer(const struct accel_context *context, const struct accel_doctor *doctor, struct gpu_answer *answer);

#endif
