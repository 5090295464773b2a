/* SPDX-License-Identifier: Apache-2.0 */
/* half IN OUT TYPE: quantizes IN to OUT as accelctl quantize does, and ends once half of the bytes are written, as an
 * interrupted run would: OUT.part remains. */
#include <stdio.h>

#include <accel/model/file.h>
#include <accel/model/quantize.h>

static int32_t ACCEL_CALL end_at_half(void *data, uint64_t done_bytes, uint64_t all_bytes)
{
    (void)data;
    return done_bytes * 2 > all_bytes;
}

int main(int count, char **arguments)
{
    struct accel_quantize_options options = {
        .size = sizeof(options), .threads = 1, .flags = ACCEL_QUANTIZE_MIX, .progress = end_at_half};
    struct accel_quantize_job *job = NULL;
    struct accel_model_file *file = NULL;
    struct accel_error error = {0};
    int32_t code;

    if (count != 4)
        return 2;
    options.type = arguments[3];
    code = accel_model_file_open(arguments[1], NULL, &file, &error);
    if (code == ACCEL_OK)
        code = accel_quantize_plan(file, &options, &job, &error);
    if (code == ACCEL_OK)
        code = accel_quantize_run(job, arguments[2], NULL, &error);
    if (code != ACCEL_E_CANCELLED)
        fprintf(stderr, "half: %s\n", error.text);
    accel_quantize_free(job);
    accel_model_file_close(file);
    return code == ACCEL_E_CANCELLED ? 0 : 1;
}
