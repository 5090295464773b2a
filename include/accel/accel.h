/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * All of libaccel: discover, plan, run. A program includes this one and links `pkg-config --libs accel`; a driver
 * includes accel/driver.h alone and links nothing.
 */
#ifndef ACCEL_ACCEL_H
#define ACCEL_ACCEL_H

#include <accel/builder.h>
#include <accel/context.h>
#include <accel/plan.h>
#include <accel/profile.h>
#include <accel/run.h>

#endif
