/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "tools/accelctl/print/rate.h"

#include <stdio.h>

double token_rate(uint64_t tokens, uint64_t nanoseconds)
{
    if (tokens < ACCEL_HISTORY_TOKENS || nanoseconds < ACCEL_HISTORY_NANOSECONDS)
        return 0;
    return (double)tokens * 1e9 / (double)nanoseconds;
}

json_t *token_rate_json(uint64_t tokens, uint64_t nanoseconds)
{
    double rate = token_rate(tokens, nanoseconds);

    return rate > 0 ? json_real(rate) : json_null();
}

const char *token_rate_text(uint64_t tokens, uint64_t nanoseconds, char text[40])
{
    double rate = token_rate(tokens, nanoseconds);

    text[0] = '\0';
    if (rate > 0 && rate < 0.0995)
        snprintf(text, 40, ", %.2g tokens/s", rate);
    else if (rate > 0)
        snprintf(text, 40, ", %.*f tokens/s", rate < 9.995 ? 2 : rate < 99.95 ? 1 : 0, rate);
    return text;
}
