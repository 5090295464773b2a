# SPDX-License-Identifier: Apache-2.0
# The cpu driver: drivers_LTLIBRARIES += plugins/cpu/cpu.la, with $(driver_ldflags) and $(driver_libs); one noinst library
# per level of vector instructions, in "if HAVE_AVX2" and so on, with $(AM_CFLAGS) $(AVX2_CFLAGS).
