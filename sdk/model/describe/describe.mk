# SPDX-License-Identifier: Apache-2.0
accelmodelinclude_HEADERS += sdk/model/include/accel/model/describe.h
