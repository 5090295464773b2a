/* SPDX-License-Identifier: Apache-2.0 */
/* Epilogue of matmul. Uses the parameters and buffers that all matmul kernels share. */

/* A sum of row `row` of W here and row m of x becomes an element of y. */
FN void put(OUTPOINTER(float, Y) POINTER(float, BIAS) POINTER(float, RESIDUAL) WITH_PARAMETERS uint row, uint m,
            float sum)
{
    if (row < p.n && m < p.rows) {
        const uint to = p.base + m * p.stride + p.first + row;
        float y = sum;
        if ((p.adds & 1u) != 0u)
            y += BIAS[START(5) + p.first + row];
        y = function_of(p.function, y);
        if ((p.adds & 2u) != 0u)
            y += RESIDUAL[START(6) + to];
        Y[START(4) + to] = y;
    }
}
