/* OpenSSL's AES-GCM as programs call it: its shared library, as way_evp.h says. */
#include <openssl/evp.h>

#include "way_evp.h"

_Static_assert(EVP_GET_TAG == EVP_CTRL_AEAD_GET_TAG && EVP_SET_TAG == EVP_CTRL_AEAD_SET_TAG,
               "EVP's numbers");

BENCH_KEY_LOOPS(evp, evp_set_key, evp_contexts)
BENCH_MESSAGE_LOOPS(evp, EVP_SEALS, EVP_OPENS)
BENCH_PIECES_LOOPS(evp, evp_seal_pieces, evp_open_pieces)

#define CALLS(bits)                                                                                \
    {                                                                                              \
        [EVP_CIPHER_OF] = (kernel_entry)EVP_aes_##bits##_gcm,                                      \
        [EVP_CONTEXT] = (kernel_entry)EVP_CIPHER_CTX_new,                                          \
        [EVP_BEGIN_SEALING] = (kernel_entry)EVP_EncryptInit_ex,                                    \
        [EVP_SEAL_MORE] = (kernel_entry)EVP_EncryptUpdate,                                         \
        [EVP_SEAL_END] = (kernel_entry)EVP_EncryptFinal_ex,                                        \
        [EVP_BEGIN_OPENING] = (kernel_entry)EVP_DecryptInit_ex,                                    \
        [EVP_OPEN_MORE] = (kernel_entry)EVP_DecryptUpdate,                                         \
        [EVP_OPEN_END] = (kernel_entry)EVP_DecryptFinal_ex,                                        \
        [EVP_CONTROL] = (kernel_entry)EVP_CIPHER_CTX_ctrl,                                         \
    }

static const kernel_entry calls_128[] = CALLS(128), calls_192[] = CALLS(192),
                          calls_256[] = CALLS(256);

static size_t open_evp(struct bench_subject *subjects, size_t room)
{
    static const struct bench_subject found[] = {
        {.name = "openssl_evp_128", .key_bits = 128, .calls = calls_128},
        {.name = "openssl_evp_192", .key_bits = 192, .calls = calls_192},
        {.name = "openssl_evp_256", .key_bits = 256, .calls = calls_256},
    };
    size_t count = sizeof found / sizeof found[0];
    if (count > room)
        return 0;
    for (size_t i = 0; i < count; i++) {
        subjects[i] = found[i];
        subjects[i].kind = "peer";
        subjects[i].table_bytes = sizeof(struct evp_context);
        subjects[i].table_align = 8;
        evp_fill_key(&subjects[i]);
        evp_fill_messages(&subjects[i]);
        evp_fill_pieces(&subjects[i]);
    }
    return count;
}

const struct bench_peers bench_openssl_evp = {.open = open_evp};
