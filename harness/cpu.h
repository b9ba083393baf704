/* Features of the CPU that runs the harness, as bits. */
#ifndef GHASHGEN_CPU_H
#define GHASHGEN_CPU_H

#include <stddef.h>
#include <stdint.h>

/* CPU_FEATURES(ROW): ROW(NAME, "name", how it is detected...) for each feature of the architecture
 * that this is compiled for. Made from ghashgen/arch/NAME/features.py. */
#include "cpu_features.h"

#define CPU_INDEX_OF(NAME, ...) CPU_INDEX_##NAME,
enum cpu_index { CPU_FEATURES(CPU_INDEX_OF) CPU_INDEX_END };

#define CPU_FEATURE_OF(NAME, ...) CPU_##NAME = UINT64_C(1) << CPU_INDEX_##NAME,
enum cpu_bit { CPU_FEATURES(CPU_FEATURE_OF) CPU_NONE = 0 };

struct cpu_feature {
    const char *name;
    uint64_t bit;
};

extern const struct cpu_feature cpu_feature_names[];
extern const size_t cpu_feature_count;

/* Environment variable: features to switch off, comma-separated. */
#define CPU_FEATURES_OFF "GHASHGEN_FEATURES_OFF"

/*
 * The features that this machine can use, minus those of CPU_FEATURES_OFF. Ends the program with
 * EXIT_USAGE if the variable names an unknown feature, so call it before printing anything.
 */
uint64_t cpu_features(void);

/* ---- Defined by the architecture, in cpu.c of its folder ---- */

/* Width in bits of each machine word that features are read from. */
extern const unsigned char cpu_word_bits[];
extern const size_t cpu_word_count;
#define CPU_WORDS_MAX 8

/* Pure: the features that a machine with these words can use. */
uint64_t cpu_decode(const uint64_t *words);

/* The features that this machine can use. */
uint64_t cpu_detected(void);

/* Clears vector register parts in use that would slow narrower code down. Call it after a function
 * that may leave them in use, and before code that depends on it. */
void cpu_clean_vectors(void);

#endif
