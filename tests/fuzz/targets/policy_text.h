/* A policy as text again: one form for each, so that two that say the same are the same text. */
#ifndef POLICY_TEXT_H
#define POLICY_TEXT_H

#include "policy/policy.h"

/* The policy in one file, without definitions; to be freed. Every word is quoted. */
char *policy_as_text(const struct policy *policy);

#endif
