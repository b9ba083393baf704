/*
 * ghashgen-bench: `list` names the subjects; without arguments a plan is read from standard input,
 * checked and measured. Exit codes are those of the harness.
 */
#include <stdio.h>

#include "../commands.h"
#include "../cpu.h"
#include "../json.h"
#include "clock.h"
#include "measure.h"

static int list(void)
{
    size_t count;
    const struct bench_subject *all = bench_subjects(&count);
    for (size_t i = 0; i < count; i++) {
        printf("{\"name\": ");
        json_string(all[i].name);
        printf(", \"kind\": ");
        json_string(all[i].kind);
        printf(", \"family\": ");
        json_string(bench_family(&all[i]));
        printf(", \"table_bytes\": %zu, \"key\": %u, \"needs\": ", all[i].table_bytes,
               all[i].key_bits);
        json_features(all[i].needs);
        printf(", \"missing\": ");
        json_features(all[i].needs & ~cpu_features());
        printf("}\n");
    }
    return EXIT_OK;
}

/* Removes the subjects that this CPU cannot run, and names them. */
static void drop_missing(struct plan *plan)
{
    size_t kept = 0;
    for (size_t i = 0; i < plan->subject_count; i++) {
        const struct bench_subject *s = plan->subjects[i];
        uint64_t missing = s->needs & ~cpu_features();
        if (!missing) {
            plan->subjects[kept++] = s;
            continue;
        }
        printf("{\"event\": \"missing\", \"name\": ");
        json_string(s->name);
        printf(", \"features\": ");
        json_features(missing);
        printf("}\n");
    }
    plan->subject_count = kept;
}

int main(int argc, char **argv)
{
    static struct plan plan;
    char text[640];
    (void)cpu_features();
    if (argc == 2 && strcmp(argv[1], "list") == 0)
        return list();
    if (argc != 1) {
        fprintf(stderr, "ghashgen-bench: usage: list, or a plan on standard input\n");
        return EXIT_USAGE;
    }
    if (plan_read(stdin, &plan, text, sizeof text) != 0) {
        fprintf(stderr, "ghashgen-bench: %s\n", text);
        return EXIT_USAGE;
    }
    int core = clock_pin(plan.core);
    if (core < 0) {
        perror("ghashgen-bench: cannot stay on one core");
        return EXIT_INTERNAL;
    }
    clock_open();
    plan.rate = plan.nops > 0 ? plan.nops * clock_idle_rate() : 0;
    printf("{\"event\": \"start\", \"core\": %d, \"ghz\": %.3f, \"features\": ", core, clock_ghz());
    json_features(cpu_features());
    printf("}\n");
    drop_missing(&plan);
    struct bench_memory *memory = memory_open(&plan);
    if (!memory) {
        perror("ghashgen-bench");
        return EXIT_INTERNAL;
    }
    if (check_results(&plan, memory) != 0 || check_messages(&plan, memory) != 0)
        return EXIT_CHECK_FAILED;
    int failed = measure(&plan, memory);
    if (failed > 0)
        return EXIT_CHECK_FAILED;
    if (failed || fflush(stdout) != 0) {
        perror("ghashgen-bench");
        return EXIT_INTERNAL;
    }
    printf("{\"event\": \"end\"}\n");
    return EXIT_OK;
}
