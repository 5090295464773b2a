# SPDX-License-Identifier: Apache-2.0
# libaccel-quant, the block formats. Contraction stays off: the decoders are the definition, bit for bit.
libaccel_quant_la_SOURCES += %D%/blocks.h %D%/format.c %D%/decode.c %D%/scalar.c %D%/decode_blocks.c %D%/decode_k.c \
	%D%/unpack.c %D%/grids.c %D%/grids.h %D%/encode_mxfp4.c \
	%D%/blocks_write.h %D%/encode.c %D%/encode_blocks.c %D%/encode_k.c %D%/encode_planar.c %D%/fit.c %D%/fit.h \
	%D%/codes.c %D%/search.c %D%/search.h %D%/search_lanes.h %D%/codebook.c
libaccel_quant_la_CFLAGS = $(AM_CFLAGS) -ffp-contract=off
