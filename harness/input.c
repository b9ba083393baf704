/* Standard input, or what is wrong with it. */
#include "input.h"

#include <stdio.h>
#include <string.h>

#include "commands.h"

int read_exactly(void *to, size_t size)
{
    if (size == 0 || fread(to, 1, size, stdin) == size)
        return EXIT_OK;
    complain("standard input ends early");
    return EXIT_USAGE;
}

int read_little_endian(uint64_t *value, size_t size)
{
    uint8_t bytes[8] = {0};
    int code = read_exactly(bytes, size);
    *value = 0;
    for (size_t i = size; i > 0; i--)
        *value = *value << 8 | bytes[i - 1];
    return code;
}

int read_magic(const char magic[4])
{
    char found[4];
    int code = read_exactly(found, sizeof found);
    if (code || memcmp(found, magic, sizeof found) == 0)
        return code;
    complain("standard input does not begin with %.4s", magic);
    return EXIT_USAGE;
}
