# SPDX-License-Identifier: Apache-2.0
# The public headers. Every header under sdk/include/accel stands here; tests/abi/headers.sh refuses one that does not.
accelinclude_HEADERS += \
	%D%/accel/abi.h \
	%D%/accel/accel.h \
	%D%/accel/builder.h \
	%D%/accel/calling.h \
	%D%/accel/context.h \
	%D%/accel/doctor.h \
	%D%/accel/driver.h \
	%D%/accel/driver_module.h \
	%D%/accel/driver_queue.h \
	%D%/accel/error.h \
	%D%/accel/graph.h \
	%D%/accel/history.h \
	%D%/accel/host.h \
	%D%/accel/ops.h \
	%D%/accel/plan.h \
	%D%/accel/profile.h \
	%D%/accel/run.h \
	%D%/accel/snapshot.h \
	%D%/accel/tables.h \
	%D%/accel/sketch.h \
	%D%/accel/types.h
EXTRA_DIST += %D%/accel/README.md
