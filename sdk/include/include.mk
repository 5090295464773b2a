# SPDX-License-Identifier: Apache-2.0
# The public headers. Every header under sdk/include/accel stands here; tests/abi refuses one that does not.
accelinclude_HEADERS += \
	%D%/accel/abi.h \
	%D%/accel/error.h \
	%D%/accel/types.h
