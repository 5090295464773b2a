# SPDX-License-Identifier: Apache-2.0
# libaccel-model: format, token, family, session, plan. Append to libaccel_model_core_la_SOURCES.
include sdk/model/format/format.mk
include sdk/model/token/token.mk
include sdk/model/family/family.mk
include sdk/model/session/session.mk
include sdk/model/plan/plan.mk
include sdk/model/describe/describe.mk
include sdk/model/quantize/quantize.mk
include sdk/model/eval/eval.mk
