# SPDX-License-Identifier: Apache-2.0
# The cpu driver: drivers_LTLIBRARIES += plugins/cpu/cpu.la, with $(driver_ldflags) and $(driver_libs) and
# libcpu-kernels.la, which brings every level of kernels.
include $(top_srcdir)/plugins/cpu/kernels/kernels.mk
