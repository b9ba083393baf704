/* The subjects of the objects given: each called in the way of the library that it comes from. */
#include "objects.h"

#include "ghash.h"
#include "loops.h"
#include "way_openssl.h"

typedef void ipsecmb_init(const void *h, void *table);
typedef void ipsecmb_ghash(const void *table, const void *in, uint64_t len, void *x,
                           uint64_t tag_len);

#define OWN_INIT(s, table, h) ((native_init *)(s)->init)((table), (h))
#define OWN_UPDATE(s, table, x, in, len) ((native_update *)(s)->update)((table), (x), (in), (len))
#define IPSECMB_INIT(s, table, h) ((ipsecmb_init *)(s)->init)((h), (table))
#define IPSECMB_UPDATE(s, table, x, in, len)                                                       \
    ((ipsecmb_ghash *)(s)->update)((table), (in), (len), (x), 16)

BENCH_LOOPS(own, OWN_INIT, OWN_UPDATE)
BENCH_LOOPS(openssl, OPENSSL_INIT, OPENSSL_UPDATE)
BENCH_LOOPS(ipsecmb, IPSECMB_INIT, IPSECMB_UPDATE)

static void (*const fill[])(struct bench_subject *) = {
    [WAY_GHASHGEN] = own_fill,
    [WAY_OPENSSL] = openssl_fill,
    [WAY_IPSECMB] = ipsecmb_fill,
};

static size_t open_given(struct bench_subject *subjects, size_t room)
{
    size_t count = &bench_object_count ? bench_object_count : 0;
    if (count > room)
        count = room;
    openssl_capabilities();
    for (size_t i = 0; i < count; i++) {
        const struct bench_object *o = &bench_objects[i];
        subjects[i] = (struct bench_subject){
            .name = o->name,
            .kind = "peer",
            .needs = o->needs,
            .table_bytes = o->table_bytes,
            .table_align = 64,
            .init = o->init,
            .update = o->update,
        };
        fill[o->way](&subjects[i]);
    }
    return count;
}

const struct bench_peers bench_given = {.open = open_given};
