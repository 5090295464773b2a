# SPDX-License-Identifier: Apache-2.0
# Benchmarks: EXTRA_PROGRAMS, built by name, never asserted on time.

EXTRA_PROGRAMS += tests/bench/kernels
tests_bench_kernels_SOURCES = %D%/kernels.c
tests_bench_kernels_LDADD = libaccel-measure.la libcpu-kernels.la libaccel-quant.la -lpthread -lm

# Packed weights beside weights in rows, by type and rows of x.
EXTRA_PROGRAMS += tests/bench/layouts
tests_bench_layouts_SOURCES = %D%/layouts.c
tests_bench_layouts_LDADD = libaccel-measure.la libcpu-kernels.la libaccel-quant.la -lpthread -lm

EXTRA_PROGRAMS += tests/bench/host
tests_bench_host_SOURCES = %D%/host.c
tests_bench_host_LDADD = libaccel-core.la

# Cost of an empty step in the caller's thread.
EXTRA_PROGRAMS += tests/bench/step
tests_bench_step_SOURCES = %D%/step.c tests/unit/device_support.h tests/mock/direct.c tests/mock/direct.h
tests_bench_step_LDADD = $(core_test_libs)
EXTRA_PROGRAMS += tests/bench/make_model
tests_bench_make_model_SOURCES = %D%/make_model.c %D%/random_model.c %D%/random_model.h
tests_bench_make_model_LDADD = libaccel-quant.la -lm

EXTRA_PROGRAMS += tests/bench/model
tests_bench_model_SOURCES = %D%/model.c
tests_bench_model_LDADD = libaccel-model.la libaccel.la

# A step through the driver library against the same kernels in a bare loop, and what threads cost.
EXTRA_PROGRAMS += tests/bench/overhead
tests_bench_overhead_SOURCES = %D%/overhead.c tests/drivers/stub.h tests/drivers/stub.c \
	plugins/cpu/experts.c plugins/cpu/operators/arrange.c plugins/cpu/operators/attention.c plugins/cpu/operators/conv.c \
	plugins/cpu/operators/expert.c plugins/cpu/operators/half.c plugins/cpu/operators/matmul.c \
	plugins/cpu/operators/rows.c plugins/cpu/operators/sample.c plugins/cpu/operators/table.c
# Flags of its own: objects of another name than those of the plugin.
tests_bench_overhead_CPPFLAGS = $(AM_CPPFLAGS)
tests_bench_overhead_LDADD = libaccel-driver.la libcpu-kernels.la libaccel-quant.la $(core_test_libs) -lpthread -lm

# What methods of quantization lose, and what they cost.
EXTRA_PROGRAMS += tests/bench/gptq
tests_bench_gptq_SOURCES = %D%/gptq.c
tests_bench_gptq_LDADD = libaccel-model-core.la libaccel-quant.la libaccel.la -lm

# Errors of the formats on normal data, and time of the encoders.
EXTRA_PROGRAMS += tests/bench/quant
tests_bench_quant_SOURCES = %D%/quant.c
tests_bench_quant_LDADD = libaccel-quant.la -lm

# Tokens with many in the caches, by the type of the caches.
EXTRA_PROGRAMS += tests/bench/depth
tests_bench_depth_SOURCES = %D%/depth.c
tests_bench_depth_LDADD = libaccel-model.la libaccel.la

# Several sequences in one step.
EXTRA_PROGRAMS += tests/bench/batch
tests_bench_batch_SOURCES = %D%/batch.c
tests_bench_batch_LDADD = libaccel-model.la libaccel.la

# A warm start, stage by stage.
EXTRA_PROGRAMS += tests/bench/start
tests_bench_start_SOURCES = %D%/start.c
tests_bench_start_LDADD = libaccel-model.la libaccel.la

# What was measured, by device.
EXTRA_DIST += %D%/results/README.md %D%/results/cpu-amx.md %D%/results/cpu-avx2.md %D%/results/cpu-zen4.md %D%/results/experts.md %D%/results/lavapipe.md %D%/results/pocl.md

# All of them.
benchmarks: $(EXTRA_PROGRAMS)
