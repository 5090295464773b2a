/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of sessions over two devices share: a context with the cpu driver, and with the same under another name.
 */
#ifndef TESTS_SESSION_SECOND_H
#define TESTS_SESSION_SECOND_H

#include "core/registry/context.h"
#include "core/registry/registry.h"
#include "session_support.h"
#include "tests/mock/second.h"

static struct accel_context *context;

static int set_up(void **state)
{
    const struct accel_driver *driver = second_load_built();
    struct accel_error error = {0};

    (void)state;
    assert_non_null(driver);
    context = make_context();
    OK(accel_context_attach_driver(context, driver, &error));
    return 0;
}

static int tear_down(void **state)
{
    struct accel_error error = {0};

    (void)state;
    OK(accel_context_free(context, &error));
    return 0;
}

#endif
