/* The subjects of the objects given: each called in the way of the library that it comes from. */
#include "objects.h"

#include "ghash.h"
#include "gcm_loops.h"
#include "way_aead.h"
#include "way_boringssl.h"
#include "way_evp.h"
#include "way_ipsecmb.h"
#include "way_openssl.h"

#define OWN_INIT(s, table, h) ((native_init *)(s)->init)((table), (h))
#define OWN_UPDATE(s, table, x, in, len) ((native_update *)(s)->update)((table), (x), (in), (len))

BENCH_LOOPS(own, OWN_INIT, OWN_UPDATE)
BENCH_LOOPS(openssl, OPENSSL_INIT, OPENSSL_UPDATE)
BENCH_LOOPS(ipsecmb, IPSECMB_INIT, IPSECMB_UPDATE)
BENCH_KEY_LOOPS(ipsecmb, IPSECMB_GCM_INIT, IPSECMB_GCM_INIT)
BENCH_MESSAGE_LOOPS(ipsecmb, IPSECMB_SEAL, IPSECMB_OPEN)
BENCH_PIECES_LOOPS(ipsecmb, ipsecmb_seal_pieces, ipsecmb_open_pieces)
BENCH_TEXT_LOOPS(boringssl, BORINGSSL_TEXT)
BENCH_KEY_LOOPS(aead, aead_set_key, aead_set_key)
BENCH_MESSAGE_LOOPS(aead, AEAD_SEALS, AEAD_OPENS)
BENCH_KEY_LOOPS(evp, evp_set_key, evp_contexts)
BENCH_MESSAGE_LOOPS(evp, EVP_SEALS, EVP_OPENS)
BENCH_PIECES_LOOPS(evp, evp_seal_pieces, evp_open_pieces)

static void fill_ipsecmb_gcm(struct bench_subject *s)
{
    ipsecmb_fill_key(s);
    ipsecmb_fill_messages(s);
    if (s->start)
        ipsecmb_fill_pieces(s);
}

static void fill_boringssl_gcm(struct bench_subject *s)
{
    s->call_init = boringssl_key;
    boringssl_fill_text(s);
}

static void fill_boringssl_gcm_blocks(struct bench_subject *s)
{
    s->whole_blocks = 1;
    fill_boringssl_gcm(s);
}

static void fill_aead(struct bench_subject *s)
{
    aead_fill_key(s);
    aead_fill_messages(s);
}

static void fill_evp(struct bench_subject *s)
{
    evp_fill_key(s);
    evp_fill_messages(s);
    evp_fill_pieces(s);
}

static void (*const fill[])(struct bench_subject *) = {
    [WAY_GHASHGEN] = own_fill,
    [WAY_OPENSSL] = openssl_fill,
    [WAY_IPSECMB] = ipsecmb_fill,
    [WAY_IPSECMB_GCM] = fill_ipsecmb_gcm,
    [WAY_BORINGSSL_GCM] = fill_boringssl_gcm,
    [WAY_BORINGSSL_GCM_BLOCKS] = fill_boringssl_gcm_blocks,
    [WAY_AEAD] = fill_aead,
    [WAY_EVP] = fill_evp,
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
            .key_bits = o->key_bits,
            .init = o->init,
            .update = o->update,
            .seal = o->seal,
            .open = o->open,
            .text = o->text,
            .start = o->start,
            .seal_more = o->seal_more,
            .seal_end = o->seal_end,
            .open_more = o->open_more,
            .open_end = o->open_end,
            .calls = o->calls,
        };
        fill[o->way](&subjects[i]);
    }
    return count;
}

const struct bench_peers bench_given = {.open = open_given};
