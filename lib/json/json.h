/*
 * Answers in JSON, made with jansson by commands that write one and end. Without memory for an answer the command says so and ends
 * with exit status 2, with nothing written of what is being made.
 */
#ifndef JSON_H
#define JSON_H

#include <jansson.h>

/* As json_object_set_new() and json_array_append_new(). */
void json_set(json_t *object, const char *key, json_t *value);
void json_add(json_t *array, json_t *value);

/* A string; bytes that are no UTF-8 become U+FFFD. NULL is null. */
json_t *json_text(const char *text);

/* Writes a document with a newline behind it, `indent` blanks a level (0: in one line), and releases it. 0, or -1 with errno. */
int json_put(FILE *out, json_t *document, size_t indent);

#endif
