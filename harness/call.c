/*
 * `call`: calls any function as standard input says, and checks the convention. Each buffer ends
 * `gap` bytes before a guard page, or begins that many after one. Only writable buffers can be
 * written. Format, all little-endian: "GHC2", u8 dirty (as abi_call takes it), u32 count, then calls:
 * u32 buffers, each with 16 bytes of name, u8 flags (1 writable, 2 placed by its start), u64 gap, u64
 * size and its bytes (with flag 4: u64 number and that many bytes; the rest are zeros); u32
 * pointers, each u32 writable buffer, u64 place in it and u32 buffer whose address is added there, and
 * subtracted after the call; u32 arguments, each u8 kind and u64 value: kind 0 is a number, kind 1 the address of a buffer. Standard
 * output gets, for each call, its violations of the convention (u64 size and text), u64 return value
 * (meaningless for a function that returns nothing), and the bytes of the writable buffers.
 */
#include <stdio.h>
#include <string.h>

#include "abi.h"
#include "commands.h"
#include "fault.h"
#include "input.h"

#define BUFFERS 512
#define POINTERS 512
#define CALL_CPU_SECONDS 10
#define MOST_GAP 4096

struct pointer {
    uint8_t *at;
    uint64_t address;
};

struct calling {
    const struct ghashgen_kernel *k;
    kernel_entry entry;
    struct guard guards[BUFFERS];
    char names[BUFFERS][17];
    uint8_t writable[BUFFERS];
    uint64_t args[KERNEL_ARGUMENTS], violations, result;
    struct pointer pointers[POINTERS];
    uint32_t buffer_count, pointer_count, count;
    int dirty_upper;
};

enum { WRITABLE = 1, BY_START = 2, ZEROS = 4 };

static void perform(void *argument)
{
    struct calling *c = argument;
    c->violations = abi_call(c->k, c->entry, c->args, c->count, c->dirty_upper);
    c->result = abi_result();
}

static void add_to_word(uint8_t *at, uint64_t number)
{
    uint64_t word;
    memcpy(&word, at, 8);
    word += number;
    memcpy(at, &word, 8);
}

static int no_memory(uint64_t size)
{
    complain("no memory for a buffer of %llu bytes", (unsigned long long)size);
    return EXIT_USAGE;
}

/* A read-only buffer that ends its gap before a guard page, and is zero except for its first bytes. It
 * is mapped anew, so that it takes memory only for the bytes written. */
static int read_zeros(struct calling *c, uint32_t i, uint64_t gap, uint64_t size)
{
    uint64_t given;
    struct guard *g = &c->guards[i];
    int code = read_little_endian(&given, 8);
    if (code)
        return code;
    guard_close(g);
    uint8_t *object = gap <= MOST_GAP && size <= SIZE_MAX / 2 && given <= size
                          ? guard_open_sparse(g, c->names[i], size, gap)
                          : NULL;
    if (!object)
        return no_memory(size);
    code = read_exactly(object, given);
    c->writable[i] = 0;
    guard_read_only(g);
    return code;
}

static int read_buffer(struct calling *c, uint32_t i)
{
    uint64_t flags, gap, size;
    int code = read_exactly(c->names[i], 16);
    if (code || (code = read_little_endian(&flags, 1)) != 0)
        return code;
    if ((code = read_little_endian(&gap, 8)) != 0 || (code = read_little_endian(&size, 8)) != 0)
        return code;
    if (flags & ZEROS)
        return read_zeros(c, i, gap, size);
    struct guard *g = &c->guards[i];
    if (!g->map || g->sparse || gap + size > g->capacity) {
        guard_close(g);
        if (gap > MOST_GAP || size > SIZE_MAX / 2 || guard_open(g, c->names[i], gap + size) != 0)
            return no_memory(size);
    }
    uint8_t *object = flags & BY_START ? guard_place_start(g, size, gap) : guard_place_end(g, size, gap);
    code = read_exactly(object, size);
    c->writable[i] = (flags & WRITABLE) != 0;
    if (!c->writable[i])
        guard_read_only(&c->guards[i]);
    return code;
}

static int read_pointer(struct calling *c, uint32_t i)
{
    uint64_t from, place, to;
    int code = read_little_endian(&from, 4);
    if (code || (code = read_little_endian(&place, 8)) != 0 || (code = read_little_endian(&to, 4)) != 0)
        return code;
    if (from >= c->buffer_count || to >= c->buffer_count || !c->writable[from] ||
        c->guards[from].size < 8 || place > c->guards[from].size - 8) {
        complain("pointer %u has no place, or no buffer", i);
        return EXIT_USAGE;
    }
    struct pointer *p = &c->pointers[i];
    *p = (struct pointer){c->guards[from].object + place, (uintptr_t)c->guards[to].object};
    add_to_word(p->at, p->address);
    return EXIT_OK;
}

static int read_argument(struct calling *c, uint32_t i)
{
    uint64_t kind, value;
    int code = read_little_endian(&kind, 1);
    if (code || (code = read_little_endian(&value, 8)) != 0)
        return code;
    if (kind > 1 || (kind == 1 && value >= c->buffer_count)) {
        complain("argument %u is neither a number nor a buffer", i);
        return EXIT_USAGE;
    }
    c->args[i] = kind ? (uintptr_t)c->guards[value].object : value;
    return EXIT_OK;
}

static int read_call(struct calling *c)
{
    uint64_t count, pointers;
    int code = read_little_endian(&count, 4);
    c->buffer_count = count > BUFFERS ? 0 : (uint32_t)count;
    if (!code && count > BUFFERS) {
        complain("a call of more than %d buffers", BUFFERS);
        return EXIT_USAGE;
    }
    for (uint32_t i = 0; !code && i < c->buffer_count; i++)
        code = read_buffer(c, i);
    if (code || (code = read_little_endian(&pointers, 4)) != 0)
        return code;
    c->pointer_count = pointers > POINTERS ? 0 : (uint32_t)pointers;
    if (pointers > POINTERS) {
        complain("a call of more than %d pointers", POINTERS);
        return EXIT_USAGE;
    }
    for (uint32_t i = 0; !code && i < c->pointer_count; i++)
        code = read_pointer(c, i);
    if (code || (code = read_little_endian(&count, 4)) != 0)
        return code;
    if (count > KERNEL_ARGUMENTS) {
        complain("a call of more than %d arguments", KERNEL_ARGUMENTS);
        return EXIT_USAGE;
    }
    c->count = (uint32_t)count;
    for (uint32_t i = 0; !code && i < c->count; i++)
        code = read_argument(c, i);
    return code;
}

static const struct guard *guard_of(const struct calling *c, const void *address)
{
    for (uint32_t i = 0; i < c->buffer_count; i++)
        if (guard_contains(&c->guards[i], address))
            return &c->guards[i];
    return guard_contains(abi_stack(), address) ? abi_stack() : NULL;
}

static int write_number(uint64_t number)
{
    uint8_t bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(number >> 8 * i);
    return fwrite(bytes, 1, 8, stdout) == 8;
}

static int make_call(struct calling *c, const char *function, uint64_t number)
{
    struct trap t;
    char what[256];
    if (!trap_call(perform, c, CALL_CPU_SECONDS, &t)) {
        fault_describe(&t, c->k, guard_of(c, t.address), what, sizeof what);
        complain("%s, call %llu, %s: %s", c->k->name, (unsigned long long)number, function, what);
        return EXIT_FAULT;
    }
    for (uint32_t i = 0; i < c->buffer_count; i++) {
        ptrdiff_t offset;
        if (!guard_damaged(&c->guards[i], &offset))
            continue;
        guard_describe(&c->guards[i], c->guards[i].object + offset, what, sizeof what);
        complain("%s, call %llu, %s: write at %s", c->k->name, (unsigned long long)number, function,
                 what);
        return EXIT_FAULT;
    }
    for (uint32_t i = 0; i < c->pointer_count; i++)
        add_to_word(c->pointers[i].at, -c->pointers[i].address);
    abi_describe(c->violations, what, sizeof what);
    int written = write_number(strlen(what)) && fputs(what, stdout) != EOF;
    written &= write_number(c->result);
    for (uint32_t i = 0; i < c->buffer_count; i++)
        if (c->writable[i] && c->guards[i].size)
            written &= fwrite(c->guards[i].object, c->guards[i].size, 1, stdout) == 1;
    return written ? EXIT_OK : EXIT_INTERNAL;
}

int command_call(const struct ghashgen_kernel *k, const char *function)
{
    static struct calling c;
    uint64_t count, dirty_upper;
    c.k = k;
    c.entry = kernel_function(k, function);
    if (!c.entry) {
        complain("%s has no %s", k->name, function);
        return EXIT_USAGE;
    }
    int code = read_magic("GHC2");
    if (code || (code = read_little_endian(&dirty_upper, 1)) != 0)
        return code;
    c.dirty_upper = dirty_upper != 0;
    if ((code = read_little_endian(&count, 4)) != 0)
        return code;
    for (uint64_t i = 0; !code && i < count; i++) {
        code = read_call(&c);
        if (!code)
            code = make_call(&c, function, i);
    }
    return code;
}
