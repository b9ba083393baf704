/* Every subject of AES-GCM or AES-CTR must give what the judge gives, at each size, before anything is measured. */
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

static int crypts(const struct bench_subject *s, const struct bench_work *w)
{
    uint8_t counter[16] = {[15] = 2};
    memcpy(counter, w->counters, 12);
    memset(w->out, 0, w->len);
    s->call_crypt(s, w, counter);
    return memcmp(w->out, w->sealed, w->len) == 0;
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
    for (size_t i = 0; i < plan->mode_count; i++) {
        w.piece = plan->modes[i]->piece;
        if (w.piece && !takes_these(s, &w))
            return 0;
    }
    return 1;
}

/* All functions on a message in the middle. */
static int is_right(const struct plan *plan, const struct bench_subject *s,
                    const struct bench_work *w, const struct aes_key *key)
{
    int takes = s->loops[BENCH_TEXT] && !(s->whole_blocks && w->len % 16);
    return (!s->call_seal_pieces || takes_pieces(plan, s, *w)) &&
           (!s->call_crypt || crypts(s, w)) && (!s->call_seal || seals(s, w)) &&
           (!s->call_open || opens(s, w)) && (!takes || takes_text(s, w, key));
}

/* What a mode calls, where its buffers lie. */
static int is_right_placed(const struct bench_subject *s, const struct bench_work *w,
                           const struct bench_mode *mode)
{
    if (!s->loops[mode->kind])
        return 1;
    s->call_init(s, w->table, w->h);
    return bench_bursts(mode) ? bursts_are_right(s, w, mode)
                              : bench_opens(mode) ? opens(s, w) : seals(s, w);
}

static int check_size(const struct plan *plan, struct bench_memory *m,
                      const struct bench_mode *mode, size_t size)
{
    if (bench_bursts(mode))
        bursts_write(m, mode, size);
    else
        memory_tags(m, mode, size);
    for (size_t i = 0; i < plan->subject_count; i++) {
        const struct bench_subject *s = plan->subjects[i];
        if (!s->key_bits)
            continue;
        check_event("checking", s, size);
        const struct bench_work w = memory_work(m, plan, i, mode, size);
        if (bench_bursts(mode) || bench_is_placed(mode) ? !is_right_placed(s, &w, mode)
                                  : !is_right(plan, s, &w, memory_key(m, s->key_bits))) {
            check_event("wrong", s, size);
            return -1;
        }
    }
    return 0;
}

static int check_mode(const struct plan *plan, struct bench_memory *m,
                      const struct bench_mode *mode)
{
    size_t sizes[PLAN_SIZES], count = plan_sizes(plan, mode, sizes);
    for (size_t j = 0; j < count; j++)
        if (check_size(plan, m, mode, sizes[j]) != 0)
            return -1;
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
        if (check_size(plan, m, &memory_middle, plan->sizes[j]) != 0)
            return -1;
    for (size_t j = 0; plan_has(plan, BENCH_IMIX) && j < BENCH_IMIX_MESSAGES; j++)
        if (check_size(plan, m, &memory_middle, bench_imix[j]) != 0)
            return -1;
    if ((plan_has(plan, BENCH_SEAL_PIECES) || plan_has(plan, BENCH_OPEN_PIECES)) &&
        check_size(plan, m, &memory_middle, BENCH_PIECES_BYTES) != 0)
        return -1;
    for (size_t k = 0; k < plan->mode_count; k++)
        if ((bench_bursts(plan->modes[k]) || bench_is_placed(plan->modes[k])) &&
            check_mode(plan, m, plan->modes[k]) != 0)
            return -1;
    return 0;
}
