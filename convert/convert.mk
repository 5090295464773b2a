# SPDX-License-Identifier: Apache-2.0
# Quantization, calibration and evaluation; part of libaccel-model.
include convert/quantize/quantize.mk
include convert/eval/eval.mk
