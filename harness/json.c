/* JSON text on standard output. */
#include "json.h"

#include <stdio.h>

void json_string(const char *s)
{
    putchar('"');
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\')
            printf("\\%c", c);
        else if (c < 0x20)
            printf("\\u%04x", c);
        else
            putchar(c);
    }
    putchar('"');
}

void json_key(int *first, const char *key)
{
    if (!*first)
        printf(", ");
    *first = 0;
    json_string(key);
    printf(": ");
}
