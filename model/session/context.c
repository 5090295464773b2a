/* SPDX-License-Identifier: Apache-2.0 */
#include "model/session/context.h"

#include "model/family/rope.h"

uint64_t session_longest_context(const struct accel_model *model)
{
    const struct accel_rope_config *rope = &model->config.rope;
    double reach = rope->factor * rope->original_context;

    if (rope->kind != ACCEL_ROPE_DYNAMIC || reach <= model->facts.context)
        return model->facts.context;
    return reach >= INT32_MAX ? INT32_MAX : (uint64_t)reach;
}

bool session_has_table(const struct accel_model *model)
{
    return model->config.form.position == FORM_LEARNED;
}

bool session_can_shift(const struct accel_model *model)
{
    return !rope_changes(&model->config.rope) && !session_has_table(model);
}

bool session_can_slide(const struct accel_session *session)
{
    return session_can_shift(session->model) && session->options.context >= 4 * session->options.sinks + 4;
}
