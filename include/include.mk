# SPDX-License-Identifier: Apache-2.0
# The public headers. Every header under include/accel stands here; tests/abi/headers.sh refuses one that does not.
accelinclude_HEADERS += \
	%D%/accel/keys.def %D%/accel/words.def \
	%D%/accel/abi.h \
	%D%/accel/accel.h \
	%D%/accel/builder.h \
	%D%/accel/context.h \
	%D%/accel/driver.h \
	%D%/accel/driver_module.h \
	%D%/accel/driver_queue.h \
	%D%/accel/error.h \
	%D%/accel/graph.h \
	%D%/accel/host.h \
	%D%/accel/ops.h \
	%D%/accel/plan.h \
	%D%/accel/profile.h \
	%D%/accel/run.h \
	%D%/accel/sketch.h \
	%D%/accel/types.h
accelquantinclude_HEADERS += \
	%D%/accel/quant/format.h \
	%D%/accel/quant/formats.def \
	%D%/accel/quant/half.h
acceldriverinclude_HEADERS += \
	%D%/accel/driver/kernel.h \
	%D%/accel/driver/note.h \
	%D%/accel/driver/ops.def \
	%D%/accel/driver/sample.h \
	%D%/accel/driver/sdk.h
accelmodelinclude_HEADERS += \
	%D%/accel/model/chat.h \
	%D%/accel/model/describe.h \
	%D%/accel/model/eval.h \
	%D%/accel/model/file.h \
	%D%/accel/model/generate.h \
	%D%/accel/model/plan.h \
	%D%/accel/model/quantize.h \
	%D%/accel/model/safetensors.h \
	%D%/accel/model/sampler.h \
	%D%/accel/model/session.h \
	%D%/accel/model/tokenizer.h
EXTRA_DIST += %D%/accel/README.md
