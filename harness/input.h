/* What the subcommands read from standard input; each returns an exit code, EXIT_OK for done. */
#ifndef GHASHGEN_INPUT_H
#define GHASHGEN_INPUT_H

#include <stddef.h>
#include <stdint.h>

int read_exactly(void *to, size_t size);
int read_little_endian(uint64_t *value, size_t size);

/* The four bytes that a format begins with. */
int read_magic(const char magic[4]);

#endif
