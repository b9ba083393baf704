/*
 * Put before the runtime for threads, so that helgrind and DRD know what its atomics order: they see
 * plain loads and stores in them, and would report each pair as a race. Here what an operation
 * releases happens before what one on the same object acquires; relaxed ones order nothing.
 *
 * For GCC, whose built-in functions take atomic objects.
 */
#ifndef GHASHGEN_THREADS_VALGRIND_H
#define GHASHGEN_THREADS_VALGRIND_H

#include <stdatomic.h>
#include <valgrind/drd.h>
#include <valgrind/helgrind.h>

static inline int releases(int order)
{
    return order == __ATOMIC_RELEASE || order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST;
}

static inline int acquires(int order)
{
    return order == __ATOMIC_ACQUIRE || order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST;
}

static inline void released(const volatile void *object, unsigned long size, int order)
{
    VALGRIND_HG_DISABLE_CHECKING(object, size);
    ANNOTATE_BENIGN_RACE_SIZED(object, size, "atomic");
    if (releases(order))
        ANNOTATE_HAPPENS_BEFORE(object);
}

static inline void acquired(const volatile void *object, int order)
{
    if (acquires(order))
        ANNOTATE_HAPPENS_AFTER(object);
}

#define LOADED(p, order, operation)                                                                \
    __extension__({                                                                                \
        released(p, sizeof *(p), __ATOMIC_RELAXED);                                                  \
        __auto_type value_ = operation;                                                            \
        acquired(p, order);                                                                           \
        value_;                                                                                    \
    })
#define CHANGED(p, order, operation)                                                               \
    __extension__({                                                                                \
        released(p, sizeof *(p), order);                                                             \
        __auto_type value_ = operation;                                                            \
        acquired(p, order);                                                                           \
        value_;                                                                                    \
    })

#undef atomic_load
#undef atomic_load_explicit
#undef atomic_store
#undef atomic_store_explicit
#undef atomic_fetch_add
#undef atomic_fetch_sub
#undef atomic_compare_exchange_weak
#undef atomic_flag_test_and_set_explicit
#undef atomic_flag_clear_explicit

#define atomic_load_explicit(p, order) LOADED(p, order, __atomic_load_n(p, order))
#define atomic_load(p) atomic_load_explicit(p, __ATOMIC_SEQ_CST)
#define atomic_store_explicit(p, value, order)                                                     \
    (released(p, sizeof *(p), order), __atomic_store_n(p, value, order))
#define atomic_store(p, value) atomic_store_explicit(p, value, __ATOMIC_SEQ_CST)
#define atomic_fetch_add(p, n) CHANGED(p, __ATOMIC_SEQ_CST, __atomic_fetch_add(p, n, __ATOMIC_SEQ_CST))
#define atomic_fetch_sub(p, n) CHANGED(p, __ATOMIC_SEQ_CST, __atomic_fetch_sub(p, n, __ATOMIC_SEQ_CST))
#define atomic_compare_exchange_weak(p, expected, value)                                           \
    CHANGED(p, __ATOMIC_SEQ_CST,                                                                   \
            __atomic_compare_exchange_n(p, expected, value, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
#define atomic_flag_test_and_set_explicit(p, order)                                                \
    LOADED(p, order, __atomic_test_and_set(p, order))
#define atomic_flag_clear_explicit(p, order)                                                       \
    (released(p, sizeof *(p), order), __atomic_clear((_Bool *)(p), order))

#endif
