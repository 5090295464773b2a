# SPDX-License-Identifier: Apache-2.0
# The kernels of the cpu driver, one program per level: the same tests. A level that the machine lacks is skipped.
kernels_test_sources = %D%/support.h %D%/support.c %D%/main.c %D%/matmul.c %D%/rows.c %D%/attention.c
kernels_test_libs = libcpu-kernels.la libaccel-quant.la $(CMOCKA_LIBS) -lm

kernels_tests = tests/kernels/scalar
tests_kernels_scalar_SOURCES = $(kernels_test_sources)
tests_kernels_scalar_CPPFLAGS = $(AM_CPPFLAGS) -DKERNELS_LEVEL=0u
tests_kernels_scalar_LDADD = $(kernels_test_libs)

if HAVE_AVX2
kernels_tests += tests/kernels/avx2
tests_kernels_avx2_SOURCES = $(kernels_test_sources)
tests_kernels_avx2_CPPFLAGS = $(AM_CPPFLAGS) -DKERNELS_LEVEL=1u
tests_kernels_avx2_LDADD = $(kernels_test_libs)
endif

check_PROGRAMS += $(kernels_tests)
TESTS += $(kernels_tests)
