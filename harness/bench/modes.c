/*
 * Every mode, one line each. ghashgen/records/core.py uses the same names, and says which modes are
 * measured by default.
 */
#include "bench.h"

/* A mode that is about where memory lies. */
#define PLACED .bytes = BENCH_ANY, .most = BENCH_PLACED_BYTES

#define ALL_AT(where) .in = (where), .out = (where), .aad = (where)

#define PIECES(piece_bytes) .bytes = BENCH_PIECES_BYTES, .piece = (piece_bytes)

const struct bench_mode bench_modes[] = {
    {"throughput", BENCH_THROUGHPUT, .bytes = BENCH_ANY},
    {"latency", BENCH_LATENCY, .bytes = BENCH_ANY},
    {"edge", BENCH_THROUGHPUT, PLACED, .in = BENCH_EDGE},
    {"edge-mapped", BENCH_THROUGHPUT, PLACED, .in = BENCH_EDGE_MAPPED},
    {"null", BENCH_THROUGHPUT, .bytes = 0, .in = BENCH_NULL},
    {"empty", BENCH_THROUGHPUT, .bytes = 0, .in = BENCH_EMPTY},
    {"init", BENCH_INIT, .bytes = 0},
    {"init-throughput", BENCH_INIT_THROUGHPUT, .bytes = 0},
    {"gcm", BENCH_GCM, .bytes = BENCH_ANY},
    {"crossing", BENCH_THROUGHPUT, PLACED, .in = BENCH_CROSSING},
    {"key-crossing", BENCH_THROUGHPUT, PLACED, .key_crosses = 1},
    {"cold", BENCH_THROUGHPUT, PLACED, .cold = 1},
    {"seal", BENCH_SEAL, .bytes = BENCH_ANY},
    {"open", BENCH_OPEN, .bytes = BENCH_ANY},
    {"seal-latency", BENCH_SEAL_LATENCY, .bytes = BENCH_ANY},
    {"open-latency", BENCH_OPEN_LATENCY, .bytes = BENCH_ANY},
    {"seal-aad-null", BENCH_SEAL, PLACED, .aad = BENCH_NULL},
    {"seal-aad-empty", BENCH_SEAL, PLACED, .aad = BENCH_EMPTY},
    {"seal-edge", BENCH_SEAL, PLACED, ALL_AT(BENCH_EDGE)},
    {"seal-edge-mapped", BENCH_SEAL, PLACED, ALL_AT(BENCH_EDGE_MAPPED)},
    {"open-edge", BENCH_OPEN, PLACED, ALL_AT(BENCH_EDGE)},
    {"open-edge-mapped", BENCH_OPEN, PLACED, ALL_AT(BENCH_EDGE_MAPPED)},
    {"seal-out-edge", BENCH_SEAL, PLACED, .out = BENCH_EDGE},
    {"seal-crossing", BENCH_SEAL, PLACED, .in = BENCH_CROSSING, .out = BENCH_CROSSING},
    {"seal-in-step", BENCH_SEAL, PLACED, .out = BENCH_IN_STEP},
    {"seal-key-crossing", BENCH_SEAL, PLACED, .key_crosses = 1},
    {"seal-cold", BENCH_SEAL, PLACED, .cold = 1},
    {"imix", BENCH_IMIX, .bytes = BENCH_IMIX_BYTES},
    {"text", BENCH_TEXT, .bytes = BENCH_ANY},
    {"pieces-16", BENCH_SEAL_PIECES, PIECES(16)},
    {"pieces-1k", BENCH_SEAL_PIECES, PIECES(1024)},
    {"pieces-16k", BENCH_SEAL_PIECES, PIECES(16384)},
    {"open-pieces-1k", BENCH_OPEN_PIECES, PIECES(1024)},
    {"crypt", BENCH_CRYPT, .bytes = BENCH_ANY},
    {"seal-burst", BENCH_SEAL_BURST, PLACED},
    {"open-burst", BENCH_OPEN_BURST, PLACED},
    {"seal-burst-imix", BENCH_SEAL_BURST, .bytes = BENCH_IMIX_BURST_BYTES},
    {"open-burst-imix", BENCH_OPEN_BURST, .bytes = BENCH_IMIX_BURST_BYTES},
};
const size_t bench_mode_count = sizeof bench_modes / sizeof bench_modes[0];
_Static_assert(sizeof bench_modes / sizeof bench_modes[0] <= BENCH_MODES, "a plan has room for all");

const size_t bench_imix[BENCH_IMIX_MESSAGES] = {64,   594, 64,  64, 594, 64,
                                                1518, 64,  594, 64, 64,  594};
