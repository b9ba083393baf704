/* The command line. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi.h"
#include "commands.h"
#include "cpu.h"
#include "trap.h"

void complain(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("ghashgen-harness: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
}

static int refuse_missing(const struct ghashgen_kernel *k)
{
    uint64_t missing = k->needs & ~cpu_features();
    if (!missing)
        return 0;
    char names[512] = "";
    for (size_t i = 0; i < cpu_feature_count; i++)
        if (missing & cpu_feature_names[i].bit) {
            strcat(names, " "); /* 16 names of at most 11 bytes fit */
            strcat(names, cpu_feature_names[i].name);
        }
    complain("%s needs%s, which this CPU lacks", k->name, names);
    return EXIT_MISSING;
}

static int usage(void)
{
    complain("usage: features | decode WORD... | list | run NAME | mul NAME | segments NAME | "
             "power NAME | check NAME | call NAME FUNCTION | sampled");
    return EXIT_USAGE;
}

static int open_traps(void)
{
    if (trap_open() == 0 && abi_open() == 0)
        return 0;
    perror("ghashgen-harness");
    return -1;
}

/* The kernel of a name, if this CPU can run it; else NULL and the exit code. */
static const struct ghashgen_kernel *runnable(const char *name, int *code)
{
    const struct ghashgen_kernel *k = kernel_find(name);
    *code = EXIT_USAGE;
    if (!k) {
        complain("no kernel is named %s", name);
        return NULL;
    }
    *code = refuse_missing(k);
    if (!*code && open_traps() != 0)
        *code = EXIT_INTERNAL;
    return *code ? NULL : k;
}

static int kernel_command(const char *command, const char *name)
{
    static const struct {
        const char *name;
        int (*run)(const struct ghashgen_kernel *);
    } commands[] = {{"run", command_run},
                  {"mul", command_mul},
                  {"segments", command_segments},
                  {"power", command_power},
                  {"check", command_check}};

    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        if (strcmp(command, commands[i].name) != 0)
            continue;
        int code;
        const struct ghashgen_kernel *k = runnable(name, &code);
        return k ? commands[i].run(k) : code;
    }
    return usage();
}

static int call_command(const char *name, const char *function)
{
    int code;
    const struct ghashgen_kernel *k = runnable(name, &code);
    return k ? command_call(k, function) : code;
}

int main(int argc, char **argv)
{
    int code;
    (void)cpu_features();
    if (argc == 2 && strcmp(argv[1], "features") == 0)
        code = command_features();
    else if (argc == 2 && strcmp(argv[1], "list") == 0)
        code = command_list();
    else if (argc == 2 && strcmp(argv[1], "sampled") == 0)
        code = open_traps() ? EXIT_INTERNAL : command_sampled();
    else if (argc == 2 + (int)cpu_word_count && strcmp(argv[1], "decode") == 0)
        code = command_decode(argv + 2);
    else if (argc == 4 && strcmp(argv[1], "call") == 0)
        code = call_command(argv[2], argv[3]);
    else if (argc == 3)
        code = kernel_command(argv[1], argv[2]);
    else
        code = usage();
    if (fflush(stdout) != 0) {
        perror("ghashgen-harness: standard output");
        return EXIT_INTERNAL;
    }
    return code;
}
