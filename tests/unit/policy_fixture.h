/*
 * Shared by the tests of lib/policy: policies that are read from memory, and what is expected of the reading.
 */
#ifndef POLICY_FIXTURE_H
#define POLICY_FIXTURE_H

#include "base/base.h"
#include "policy/policy.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* A file in memory. A text that is NULL makes reading it fail with `fault`. */
struct memory_file {
    const char *name;
    const char *text;
    size_t size;         /* 0: the text ends in NUL */
    const char *same_as; /* another name of that file, NULL: a file of its own */
    int fault;
};

/* What policy_load() gave. */
struct loaded {
    struct policy *policy;
    struct policy_diagnostics diagnostics;
};

#define auto_loaded __attribute__((cleanup(unload)))
void unload(struct loaded *loaded);

/* Loads files[0], which may include the others. */
struct loaded load_defined(const struct memory_file *files, size_t count,
                           const struct policy_definition *definitions, size_t definition_count);
struct loaded load_files(const struct memory_file *files, size_t count);
struct loaded load_bytes(const char *text, size_t size);
/* "policy 1", and `body` from line 2 on. */
struct loaded load_body(const char *body);

/* A fault that must be found: where, and a part of its message. */
struct fault {
    const char *file; /* NULL: not in a file */
    size_t line, column;
    const char *part;
};

void assert_accepted(const struct loaded *loaded);
/* Exactly these faults, in this order. */
void assert_faults(const struct loaded *loaded, const struct fault *faults, size_t count);
/* Exactly one fault, in the file "main". */
void assert_fault(const struct loaded *loaded, size_t line, size_t column, const char *part);

/* A body that has exactly one fault. */
struct fault_case {
    const char *body;
    size_t line, column;
    const char *part;
};
void assert_fault_cases(const struct fault_case *cases, size_t count);

/* `text` `count` times between `before` and `after`, freed by the caller. */
char *repeated(const char *before, const char *text, size_t count, const char *after);

#endif
