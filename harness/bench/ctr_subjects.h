/* Emitted AES-CTR kernels, as bench_subject values. */
#ifndef GHASHGEN_BENCH_CTR_SUBJECTS_H
#define GHASHGEN_BENCH_CTR_SUBJECTS_H

#include "bench.h"

/* The loops of an emitted kernel, from the entries and the key that the subject has. */
void ctr_fill(struct bench_subject *subject);

#endif
