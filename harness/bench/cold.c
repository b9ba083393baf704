/* A return in every 64 bytes of 256 KiB, each called once. */
#include "cold.h"

#include <stddef.h>

#define LINES 4096

void cold_lines(void);

__asm__(".text\n"
        ".p2align 6\n"
        ".globl cold_lines\n"
        ".type cold_lines, %function\n"
        "cold_lines:\n"
        ".rept 4096\n"
        "    ret\n"
        "    .p2align 6\n"
        ".endr\n"
        ".size cold_lines, . - cold_lines\n");

void cold_code(void)
{
    for (size_t i = 0; i < LINES; i++)
        ((void (*)(void))((const char *)cold_lines + 64 * i))();
}
