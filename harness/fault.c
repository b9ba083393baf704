/* From a signal to the buffer, the instruction and the rule that was broken. */
#include "fault.h"

#include <signal.h>
#include <stdio.h>

#include "abi.h"

#define SLACK_BYTES 8192 /* two pages, more than any alignment */

int buffers_open(struct buffers *b, const struct ghashgen_kernel *k, size_t input_bytes)
{
    memset(b, 0, sizeof *b);
    if (guard_open(&b->input, "in", input_bytes) != 0 || guard_open(&b->key, "h", 16) != 0)
        return -1;
    if (guard_open(&b->table, "table", k->table_bytes + 2 * SLACK_BYTES) != 0)
        return -1;
    if (guard_open(&b->addend, "y", 16) != 0 || guard_open(&b->factor, "p", 16) != 0)
        return -1;
    return guard_open(&b->state, "x", 16);
}

uint8_t *place_table(struct buffers *b, const struct ghashgen_kernel *k, enum table_place place)
{
    size_t align = k->table_align;
    if (place == TABLE_AT_END)
        return guard_place_end(&b->table, k->table_bytes, (align - k->table_bytes % align) % align);
    /* SLACK_BYTES + align is a multiple of align and of nothing larger. */
    return guard_place_start(&b->table, k->table_bytes,
                             place == TABLE_AT_START ? 0 : SLACK_BYTES + align);
}

uint8_t *place_table_at(struct buffers *b, const struct ghashgen_kernel *k, size_t residue)
{
    return guard_place_start(&b->table, k->table_bytes, SLACK_BYTES + residue);
}

static const struct guard *guard_at(const struct buffers *b, const void *address,
                                    enum category *category)
{
    const struct {
        const struct guard *guard;
        enum category category;
    } rows[] = {
        {&b->input, CHECK_INPUT_BOUNDS}, {&b->key, CHECK_INPUT_BOUNDS},
        {&b->table, CHECK_TABLE_BOUNDS}, {&b->state, CHECK_STATE_BOUNDS},
        {&b->addend, CHECK_STATE_BOUNDS}, {&b->factor, CHECK_STATE_BOUNDS},
        {abi_stack(), CHECK_ABI},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (guard_contains(rows[i].guard, address)) {
            *category = rows[i].category;
            return rows[i].guard;
        }
    return NULL;
}

static int is_memory_fault(const struct trap *t)
{
    return t->signal == SIGSEGV || t->signal == SIGBUS;
}

enum category fault_category(const struct trap *t, const struct buffers *b)
{
    enum category category = CHECK_RESULTS;
    if (!is_memory_fault(t))
        return CHECK_RESULTS;
    if (t->access == ACCESS_FETCH || trap_at_return(t))
        return CHECK_ABI;
    if (!t->has_address)
        return CHECK_ALIGNMENT;
    guard_at(b, t->address, &category);
    return category;
}

static const char *access_name(enum trap_access access)
{
    static const char *const names[] = {
        [ACCESS_UNKNOWN] = "access",
        [ACCESS_READ] = "read",
        [ACCESS_WRITE] = "write",
        [ACCESS_FETCH] = "jump",
    };
    return names[access];
}

static void describe_instruction(const struct trap *t, const struct ghashgen_kernel *k, char *text,
                                 size_t text_size)
{
    uintptr_t at = (uintptr_t)t->instruction;
    uintptr_t best = UINTPTR_MAX;
    text[0] = 0;
    for (const struct kernel_function *f = k->functions; t->instruction && f->name; f++) {
        uintptr_t offset = at - (uintptr_t)f->entry;
        if (offset < 65536 && offset < best) {
            best = offset;
            snprintf(text, text_size, ", by %s+%#lx", f->name, (unsigned long)offset);
        }
    }
}

const struct guard *buffers_at(const struct buffers *b, const void *address)
{
    enum category category;
    return guard_at(b, address, &category);
}

void fault_describe(const struct trap *t, const struct ghashgen_kernel *k, const struct guard *g,
                    char *text, size_t text_size)
{
    char where[96], instruction[64];
    describe_instruction(t, k, instruction, sizeof instruction);
    if (!is_memory_fault(t))
        snprintf(text, text_size, "%s%s", trap_signal_name(t->signal), instruction);
    else if (trap_at_return(t))
        snprintf(text, text_size, "return to a damaged address%s", instruction);
    else if (!t->has_address)
        snprintf(text, text_size, "general protection fault (a misaligned operand, or a pointer "
                                  "made of garbage)%s", instruction);
    else if (g) {
        guard_describe(g, t->address, where, sizeof where);
        snprintf(text, text_size, "%s at %s%s", access_name(t->access), where, instruction);
    } else
        snprintf(text, text_size, "%s at an address outside every buffer%s",
                 access_name(t->access), instruction);
}
