/* The findings of `check`, by category. A check that did not finish never counts as passed. */
#include "report.h"

#include <inttypes.h>
#include <stdio.h>

#include "abi.h"
#include "json.h"

static const char *const category_names[CHECK_COUNT] = {
    [CHECK_ABI] = "abi",
    [CHECK_INPUT_BOUNDS] = "input_bounds",
    [CHECK_ALIGNMENT] = "alignment",
    [CHECK_TABLE_BOUNDS] = "table_bounds",
    [CHECK_STATE_BOUNDS] = "state_bounds",
    [CHECK_RESULTS] = "results",
};

void report_failure(struct report *r, enum category category, const char *where, const char *what)
{
    struct finding *f = &r->findings[category];
    if (f->failures++ == 0)
        snprintf(f->detail, sizeof f->detail, "%s: %s", where, what);
}

static int write_finding(const struct report *r, int category)
{
    const struct finding *f = &r->findings[category];
    const char *missing = r->unfinished;
    if (category == CHECK_ABI && !abi_available())
        missing = "not checked: there is no trampoline for this architecture";
    int ran = f->failures > 0 || !*missing;
    int ok = ran && f->failures == 0;
    int first = 1;
    printf("{");
    json_key(&first, "ok");
    printf(ok ? "true" : "false");
    json_key(&first, "ran");
    printf(ran ? "true" : "false");
    json_key(&first, "failures");
    printf("%" PRIu64, f->failures);
    json_key(&first, "detail");
    json_string(ran ? f->detail : missing);
    printf("}");
    return ok;
}

int report_write(const struct report *r, const char *name)
{
    int all = 1, first = 1, first_check = 1;
    printf("{");
    json_key(&first, "name");
    json_string(name);
    json_key(&first, "checks");
    printf("{");
    for (int category = 0; category < CHECK_COUNT; category++) {
        json_key(&first_check, category_names[category]);
        all &= write_finding(r, category);
    }
    printf("}");
    json_key(&first, "calls");
    printf("%" PRIu64 "}\n", r->calls);
    return all;
}
