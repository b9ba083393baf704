/* The list of subjects: portable kernels, emitted kernels, then the peers found and given. */
#include "ctr_subjects.h"
#include "gcm_subjects.h"
#include "ghash.h"
#include "loops.h"
#include "objects.h"

#define NATIVE_INIT(s, table, h) ((native_init *)(s)->init)((table), (h))
#define NATIVE_UPDATE(s, table, x, in, len)                                                        \
    ((native_update *)(s)->update)((table), (x), (in), (len))

BENCH_LOOPS(native, NATIVE_INIT, NATIVE_UPDATE)

#define ROOM 2048

static struct bench_subject subjects[ROOM];
static size_t filled;

/* The function that a kernel of each family must have, besides init. */
static kernel_entry works(const struct ghashgen_kernel *k)
{
    kernel_entry crypt = kernel_function(k, "crypt");
    return crypt ? crypt : kernel_function(k, k->key_bits ? "encrypt" : "update");
}

static void add_kernel(const struct ghashgen_kernel *k, const char *kind)
{
    if (filled == ROOM || kernel_is_win64(k) || !kernel_function(k, "init") || !works(k))
        return;
    struct bench_subject *s = &subjects[filled++];
    *s = (struct bench_subject){
        .name = k->name,
        .kind = kind,
        .needs = k->needs,
        .table_bytes = k->table_bytes,
        .table_align = k->table_align,
        .key_bits = k->key_bits,
        .init = kernel_function(k, "init"),
        .update = kernel_function(k, "update"),
        .seal = kernel_function(k, "seal"),
        .open = kernel_function(k, "open"),
        .text = kernel_function(k, "encrypt"),
        .crypt = kernel_function(k, "crypt"),
        .seal_many = kernel_function(k, "seal_many"),
        .open_many = kernel_function(k, "open_many"),
        .start = kernel_function(k, "start"),
        .aad = kernel_function(k, "aad"),
        .seal_more = kernel_function(k, "encrypt_more"),
        .seal_end = kernel_function(k, "finish"),
        .open_more = kernel_function(k, "decrypt_more"),
        .open_end = kernel_function(k, "verify"),
    };
    if (s->crypt)
        ctr_fill(s);
    else if (s->key_bits)
        gcm_fill(s);
    else
        native_fill(s);
}

static void add_peers(const struct bench_peers *peers)
{
    if (peers)
        filled += peers->open(subjects + filled, ROOM - filled);
}

const struct bench_subject *bench_subjects(size_t *count)
{
    if (!filled) {
        for (size_t i = 0; i < reference_kernel_count; i++)
            add_kernel(&reference_kernels[i], "portable");
        filled += gcm_portable_subjects(subjects + filled, ROOM - filled);
        for (size_t i = 0; i < ghashgen_kernel_count; i++)
            add_kernel(&ghashgen_kernels[i], "kernel");
        add_peers(&bench_openssl);
        add_peers(&bench_openssl_evp);
        add_peers(&bench_openssl_stitched);
        add_peers(&bench_ipsecmb);
        add_peers(&bench_ipsecmb_burst);
        add_peers(&bench_openssl_ctr);
        add_peers(&bench_ipsecmb_ctr);
        add_peers(&bench_given);
    }
    *count = filled;
    return subjects;
}

const struct bench_subject *bench_find(const char *name)
{
    size_t count;
    const struct bench_subject *all = bench_subjects(&count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(all[i].name, name) == 0)
            return &all[i];
    return NULL;
}

const struct bench_subject *bench_judge(void)
{
    return bench_find("ref_bitwise");
}
