# SPDX-License-Identifier: Apache-2.0
# The GPU library: implements the driver ABI over a compute API, and embeds kernel texts in C. A plugin links
# libaccel-gpu.la and the table of sources of its API.
noinst_LTLIBRARIES += libaccel-gpu.la
libaccel_gpu_la_SOURCES = \
	%D%/api.h \
	%D%/cache.h \
	%D%/host.h \
	%D%/kernel.h \
	%D%/timeline.h \
	%D%/internal.h \
	%D%/arena.c \
	%D%/buffer.c \
	%D%/cache.c \
	%D%/claim.c \
	%D%/estimate.c \
	%D%/features.c \
	%D%/features.def \
	%D%/slots.def \
	%D%/host.c \
	%D%/instance.c \
	%D%/lower.c \
	%D%/memory.c \
	%D%/module.c \
	%D%/pipeline.c \
	%D%/queue.c \
	%D%/set.c \
	%D%/shape.c \
	%D%/state.c \
	%D%/step.c \
	%D%/transfer.c \
	%D%/weights.c \
	%D%/kernels/format.h \
	%D%/kernels/rows.h \
	%D%/kernels/arrange.c \
	%D%/kernels/format.c \
	%D%/kernels/launch.c \
	%D%/kernels/pack.c \
	%D%/kernels/rows.c \
	%D%/kernels/rows_attention.c \
	%D%/kernels/rows_half.c \
	%D%/kernels/rows_matrix.c \
	%D%/kernels/rows_places.c \
	%D%/kernels/rows_pointwise.c \
	%D%/kernels/rows_strided.c

# Kernel texts. A plugin's table of sources is regenerated when one changes.
gpu_kernel_texts = \
	%D%/kernels/sources.def include/accel/driver/sample.h \
	%D%/kernels/argmax.k %D%/kernels/attention.k %D%/kernels/attention_keys.h %D%/kernels/attention_merge.k \
	%D%/kernels/attention_places.h %D%/kernels/matmul_rows.h \
	%D%/kernels/attention_score_sum.k %D%/kernels/cache_write.k %D%/kernels/cast.k %D%/kernels/conv_direct.k \
	%D%/kernels/conv_places.h %D%/kernels/conv_read.h %D%/kernels/conv_rows.k %D%/kernels/dense_attention.k \
	%D%/kernels/dialect.h %D%/kernels/dialect_glsl.h %D%/kernels/dialect_opencl.h %D%/kernels/embed.k \
	%D%/kernels/finish.h %D%/kernels/functions.h %D%/kernels/gather.k %D%/kernels/group_norm.k \
	%D%/kernels/groups.h %D%/kernels/matmul_matrix.k %D%/kernels/matmul_tile.k %D%/kernels/matmul_vec.k \
	%D%/kernels/norm.k %D%/kernels/pointwise.k %D%/kernels/pool.k %D%/kernels/reduce.k %D%/kernels/resize.k \
	%D%/kernels/rotary.k %D%/kernels/round_rows.k %D%/kernels/sample.k %D%/kernels/sample_keys.k %D%/kernels/softmax.k %D%/kernels/strided.k %D%/kernels/tiles.h %D%/kernels/top_k.h %D%/kernels/top_k.k %D%/kernels/top_k_ranks.k \
	%D%/kernels/weight_quad.h %D%/kernels/weights.h
EXTRA_DIST += %D%/embed.sh $(gpu_kernel_texts)
