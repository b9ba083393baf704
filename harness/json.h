/* JSON text on standard output. */
#ifndef GHASHGEN_JSON_H
#define GHASHGEN_JSON_H

#include <stdint.h>

/* A string with its quotes; control characters as \u00XX. */
void json_string(const char *s);

/* `"key": ` after a comma unless *first, which is then cleared. */
void json_key(int *first, const char *key);

/* An array of the names of CPU features. */
void json_features(uint64_t features);

#endif
