/* JSON text on standard output. */
#include "json.h"

#include <stdio.h>

#include "cpu.h"

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

void json_features(uint64_t features)
{
    const char *separator = "";
    printf("[");
    for (size_t i = 0; i < cpu_feature_count; i++)
        if (features & cpu_feature_names[i].bit) {
            printf("%s", separator);
            json_string(cpu_feature_names[i].name);
            separator = ", ";
        }
    printf("]");
}
