# SPDX-License-Identifier: Apache-2.0
# libaccel-quant, the block formats. Append to libaccel_quant_la_SOURCES.
