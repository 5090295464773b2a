/* SPDX-License-Identifier: Apache-2.0 */
/* Which place of x a window reads. Uses the parameters of conv_places.h and the constant TRANSPOSED. */

/* The place of x along an axis that place `tap` of the window of `place` reads; -1: none. */
FN int read_along(uint place, uint tap, uint in_extent, uint stride, uint dilation, uint before)
{
    int from;
    if (TRANSPOSED != 0u) {
        from = to_int(place + before) - to_int(tap * dilation);
        if (from < 0 || from % to_int(stride) != 0)
            return -1;
        from /= to_int(stride);
    } else {
        from = to_int(place * stride + tap * dilation) - to_int(before);
    }
    return from >= 0 && from < to_int(in_extent) ? from : -1;
}

/* The place of x, counted over all images, that place `tap` of the window of place `place` of y reads; -1: none. */
FN int place_read(WITH_PARAMETERS uint place, uint tap)
{
    const uint column = place % p.out_width, row = place / p.out_width % p.out_height;
    const uint image = place / p.out_width / p.out_height;
    const int y =
        read_along(row, tap / p.window_width, p.in_height, p.stride_height, p.dilation_height, p.before_height);
    const int x =
        read_along(column, tap % p.window_width, p.in_width, p.stride_width, p.dilation_width, p.before_width);
    return y < 0 || x < 0 ? -1 : to_int(image * p.in_height * p.in_width) + y * to_int(p.in_width) + x;
}
