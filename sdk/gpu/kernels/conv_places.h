/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of windows, for kernels of convolutions. */
uint channels;
uint in_height;
uint in_width;
uint out_height;
uint out_width;
uint window_height;
uint window_width;
uint stride_height;
uint stride_width;
uint dilation_height;
uint dilation_width;
uint before_height;
uint before_width;
