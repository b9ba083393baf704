/* Every subject of AES-GCM must give what the judge gives, at each size, before anything is measured. */
#include "gcm_judge.h"
#include "measure.h"

/* The state that a text goes on from; any. */
static const uint8_t begun[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

static int seals(const struct bench_subject *s, const struct bench_work *w)
{
    uint8_t tag[16] = {0};
    memset(w->out, 0, w->len);
    s->call_seal(s, w, tag);
    return memcmp(w->out, w->sealed, w->len) == 0 && memcmp(tag, w->tag, 16) == 0;
}

static int opens(const struct bench_subject *s, const struct bench_work *w)
{
    uint8_t wrong[16];
    memcpy(wrong, w->tag, 16);
    wrong[15] ^= 1;
    if (s->call_open(s, w, wrong))
        return 0;
    memset(w->out, 0, w->len);
    return s->call_open(s, w, w->tag) && memcmp(w->out, w->in, w->len) == 0;
}

static int takes_text(const struct bench_subject *s, const struct bench_work *w,
                      const struct aes_key *key)
{
    uint8_t counter[16] = {[15] = 2}, x[16], wanted[16];
    memcpy(counter, w->counters, 12);
    memcpy(x, begun, 16);
    memcpy(wanted, begun, 16);
    gcm_hash(key, wanted, w->sealed, w->len);
    memset(w->out, 0, w->len);
    s->call_text(s, w, counter, x);
    return memcmp(w->out, w->sealed, w->len) == 0 && memcmp(x, wanted, 16) == 0;
}

static int takes_these(const struct bench_subject *s, const struct bench_work *w)
{
    uint8_t tag[16] = {0}, wrong[16];
    memcpy(wrong, w->tag, 16);
    wrong[15] ^= 1;
    memset(w->out, 0, w->len);
    s->call_seal_pieces(s, w, tag);
    if (memcmp(w->out, w->sealed, w->len) != 0 || memcmp(tag, w->tag, 16) != 0 ||
        s->call_open_pieces(s, w, wrong))
        return 0;
    memset(w->out, 0, w->len);
    return s->call_open_pieces(s, w, w->tag) && memcmp(w->out, w->in, w->len) == 0;
}

/* In pieces of every size that is measured. */
static int takes_pieces(const struct plan *plan, const struct bench_subject *s, struct bench_work w)
{
    for (int mode = 0; mode < BENCH_MODES; mode++) {
        w.piece = bench_mode_piece[mode];
        if (plan->modes[mode] && w.piece && !takes_these(s, &w))
            return 0;
    }
    return 1;
}

static int is_right(const struct plan *plan, const struct bench_subject *s,
                    const struct bench_work *w, const struct aes_key *key)
{
    return (!s->call_seal_pieces || takes_pieces(plan, s, *w)) &&
           (!s->call_seal || seals(s, w)) && (!s->call_open || opens(s, w)) &&
           (!bench_takes(s, BENCH_TEXT, w->len) || takes_text(s, w, key));
}

static int check_size(const struct plan *plan, struct bench_memory *m, size_t size)
{
    memory_tags(m, size);
    for (size_t i = 0; i < plan->subject_count; i++) {
        const struct bench_subject *s = plan->subjects[i];
        if (!s->key_bits)
            continue;
        check_event("checking", s, size);
        const struct bench_work w = memory_work(m, plan, i, size);
        if (!is_right(plan, s, &w, memory_key(m, s->key_bits))) {
            check_event("wrong", s, size);
            return -1;
        }
    }
    return 0;
}

int check_messages(const struct plan *plan, struct bench_memory *m)
{
    for (size_t i = 0; i < plan->subject_count; i++) {
        const struct bench_subject *s = plan->subjects[i];
        if (s->key_bits) {
            check_event("checking", s, 0);
            s->call_init(s, m->tables[i], m->h);
        }
    }
    for (size_t j = 0; j < plan->size_count; j++)
        if (check_size(plan, m, plan->sizes[j]) != 0)
            return -1;
    for (size_t j = 0; plan->modes[BENCH_IMIX] && j < BENCH_IMIX_MESSAGES; j++)
        if (check_size(plan, m, bench_imix[j]) != 0)
            return -1;
    for (int mode = 0; mode < BENCH_MODES; mode++)
        if (plan->modes[mode] && bench_mode_piece[mode])
            return check_size(plan, m, BENCH_PIECES_BYTES);
    return 0;
}
