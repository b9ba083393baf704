/*
 * Bursts of messages, as a network stack has them: each packet begins at some line of a page of its own,
 * with its AAD, its IV, the text and the tag in turn.
 */
#include "measure.h"

#define PAGE 4096

/* Bytes before the text at the first line: AAD of any length, the IV, and other headers. */
#define HEAD (PLAN_MOST_AAD + 64 + 38)
#define LINES ((PAGE - HEAD - BENCH_PLACED_BYTES - 16) / 64)

/* Lines from packet to packet: input and output are seldom in step. */
enum { IN = 7, OUT = 11 };

/* The text of packet i of some pages. */
static uint8_t *text_of(uint8_t *pages, size_t i, size_t lines)
{
    return pages + PAGE * i + HEAD + 64 * ((i + 1) * lines % LINES);
}

void bursts_write(struct bench_memory *m, const struct bench_mode *mode, size_t len)
{
    for (size_t k = 0; k < KEYS; k++)
        for (size_t i = 0; i < BENCH_BURST && m->sealed[k].packets; i++) {
            struct bench_sealed *sealed = &m->sealed[k];
            size_t own = mode->bytes == BENCH_ANY ? len : bench_imix[i % BENCH_IMIX_MESSAGES];
            size_t head = 12 + m->aad_len;
            uint8_t *text = text_of(m->packets, i, IN);
            uint8_t *packet = text_of(sealed->packets, i, IN);
            uint8_t *out = text_of(m->sent, i, OUT), counter[16] = {[15] = 2};
            memcpy(packet - head, text - head, head);
            memcpy(counter, text - 12, 12);
            gcm_counter_mode(&sealed->key, counter, text, own, packet);
            gcm_tag(&sealed->key, text - 12, text - head, m->aad_len, packet, own, packet + own);
            int opens = mode->kind == BENCH_OPEN_BURST;
            uint8_t *in = opens ? packet : text;
            sealed->burst[i] = (struct ghashgen_message){
                .iv = in - 12,
                .aad = in - head,
                .in = in,
                .out = out,
                .tag = (opens ? packet : out) + own,
                .len = own,
                .aad_len = m->aad_len,
                .iv_len = 12,
                .tag_len = 16,
            };
        }
}

/* Runs the burst once; whether every output is right, and only message `but` failed. */
static int gives(const struct bench_subject *s, const struct bench_work *w,
                 const struct bench_mode *mode, size_t but)
{
    size_t tag = mode->kind == BENCH_SEAL_BURST ? 16 : 0;
    for (size_t i = 0; i < BENCH_BURST; i++) {
        memset(w->burst[i].out, 0, w->burst[i].len + 16);
        w->burst[i].status = 9;
    }
    s->loops[mode->kind](s, w);
    for (size_t i = 0; i < BENCH_BURST; i++) {
        const struct ghashgen_message *m = &w->burst[i];
        if (i == but ? !m->status
                     : (!tag && m->status) || memcmp(m->out, text_of(w->wanted, i, IN), m->len + tag) != 0)
            return 0;
    }
    return 1;
}

int bursts_are_right(const struct bench_subject *s, const struct bench_work *w,
                     const struct bench_mode *mode)
{
    if (!gives(s, w, mode, BENCH_BURST))
        return 0;
    if (mode->kind == BENCH_SEAL_BURST)
        return 1;
    uint8_t *tag = w->burst[BENCH_BURST / 2].tag;
    tag[15] ^= 1;
    int right = gives(s, w, mode, BENCH_BURST / 2);
    tag[15] ^= 1;
    return right;
}
