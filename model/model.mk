# SPDX-License-Identifier: Apache-2.0
# libaccel-model: file, tokenizer, chat, family, session, plan. Append to libaccel_model_core_la_SOURCES.
include model/file/file.mk
include model/tokenizer/tokenizer.mk
include model/chat/chat.mk
include model/family/family.mk
include model/session/session.mk
include model/plan/plan.mk
include model/describe/describe.mk
