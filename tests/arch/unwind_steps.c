/*
 * Calls functions of an AES-GCM kernel in single steps. Before each of their instructions the
 * platform's own unwinder goes one frame up. It must find the call, the stack pointer there, and
 * the registers that a function keeps as they were at the call. Prints the number of steps.
 */
#ifndef _WIN32
#define _GNU_SOURCE
#endif
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define JOIN_(kernel, name) kernel##_##name
#define JOIN(kernel, name) JOIN_(kernel, name)
#define FUNCTION(name) JOIN(KERNEL, name)

int FUNCTION(init)(void), FUNCTION(seal)(void), FUNCTION(open)(void);

struct call {
    int (*function)(void);
    uintptr_t args[10];
};

int stepped(const struct call *);
extern char stepped_return[], stepped_end[];
uintptr_t stepped_own, stepped_at;

/* Planted in every register that a function keeps, plus the register's number; 16 on for xmm. */
#define PLANTED 0x5a00000000000000

#ifdef _WIN32
#define ARGUMENTS                                                                                  \
    "mov r11, rcx\n mov rcx, [r11 + 8]\n mov rdx, [r11 + 16]\n mov r8, [r11 + 24]\n"               \
    "mov r9, [r11 + 32]\n .irp i, 4,5,6,7,8,9\n mov rax, [r11 + 8 + 8*\\i]\n"                      \
    "mov [rsp + 8*\\i], rax\n .endr\n"
#define PLANT                                                                                      \
    ".irp i, 6,7,8,9,10,11,12,13,14,15\n mov rax, 0x5a00000000000010 + \\i\n"                      \
    "movq xmm\\i, rax\n punpcklqdq xmm\\i, xmm\\i\n .endr\n"                                       \
    "mov rsi, 0x5a00000000000006\n mov rdi, 0x5a00000000000007\n"
#else
#define ARGUMENTS                                                                                  \
    "mov r11, rdi\n mov rdi, [r11 + 8]\n mov rsi, [r11 + 16]\n mov rdx, [r11 + 24]\n"              \
    "mov rcx, [r11 + 32]\n mov r8, [r11 + 40]\n mov r9, [r11 + 48]\n"                              \
    ".irp i, 6,7,8,9\n mov rax, [r11 + 8 + 8*\\i]\n mov [rsp + 8*(\\i - 6)], rax\n .endr\n"
#define PLANT ""
#endif

/* 0x100 is EFLAGS.TF: a trap after each instruction. */
__asm__(".intel_syntax noprefix\n"
        ".text\n"
        ".globl stepped, stepped_return, stepped_end\n"
        "stepped:\n"
        ".cfi_startproc\n"
        ".irp r, rbx,rbp,rsi,rdi,r12,r13,r14,r15\n push \\r\n .endr\n"
        "mov [rip + stepped_own], rsp\n"
        "sub rsp, 128\n"
        "and rsp, -16\n"
        "mov [rip + stepped_at], rsp\n" ARGUMENTS PLANT
        "mov rbx, 0x5a00000000000003\n"
        "mov rbp, 0x5a00000000000005\n"
        ".irp i, 12,13,14,15\n mov r\\i, 0x5a00000000000000 + \\i\n .endr\n"
        "pushfq\n or dword ptr [rsp], 0x100\n popfq\n"
        "call [r11]\n"
        "stepped_return:\n"
        "pushfq\n and dword ptr [rsp], ~0x100\n popfq\n"
        "mov rsp, [rip + stepped_own]\n"
        ".irp r, r15,r14,r13,r12,rdi,rsi,rbp,rbx\n pop \\r\n .endr\n"
        "ret\n"
        ".cfi_endproc\n"
        "stepped_end:\n"
        ".att_syntax\n");

static long steps;

static int is_own(uintptr_t at)
{
    return at >= (uintptr_t)stepped && at < (uintptr_t)stepped_end;
}

static void check(uintptr_t at, const char *what, int number, uintptr_t found, uintptr_t wanted)
{
    if (found == wanted)
        return;
    printf("step %ld, seal + %#llx: %s %d is %#llx, not %#llx\n", steps,
           (unsigned long long)(at - (uintptr_t)FUNCTION(seal)), what, number,
           (unsigned long long)found, (unsigned long long)wanted);
    fflush(stdout);
    _Exit(1);
}

#ifdef _WIN32
#include <windows.h>

static LONG CALLBACK on_step(EXCEPTION_POINTERS *info)
{
    static const int kept[] = {3, 5, 6, 7, 12, 13, 14, 15};
    CONTEXT *here = info->ContextRecord, above = *here;
    uintptr_t at = here->Rip;
    if (info->ExceptionRecord->ExceptionCode != EXCEPTION_SINGLE_STEP)
        return EXCEPTION_CONTINUE_SEARCH;
    if (is_own(at))
        return EXCEPTION_CONTINUE_EXECUTION;
    here->EFlags |= 0x100;
    steps++;
    DWORD64 base, frame;
    void *data;
    RUNTIME_FUNCTION *entry = RtlLookupFunctionEntry(at, &base, NULL);
    check(at, "function without a description", 0, entry == NULL, 0);
    RtlVirtualUnwind(UNW_FLAG_NHANDLER, base, at, entry, &above, &data, &frame, NULL);
    check(at, "return address", 0, above.Rip, (uintptr_t)stepped_return);
    check(at, "stack pointer", 0, above.Rsp, stepped_at);
    for (int i = 0; i < 8; i++)
        check(at, "register", kept[i], (&above.Rax)[kept[i]], PLANTED + kept[i]);
    for (int i = 6; i < 16; i++) {
        M128A found = above.FltSave.XmmRegisters[i];
        check(at, "low half of xmm", i, found.Low, PLANTED + 16 + i);
        check(at, "high half of xmm", i, found.High, PLANTED + 16 + i);
    }
    return EXCEPTION_CONTINUE_EXECUTION;
}

static void trap_steps(void) { AddVectoredExceptionHandler(1, on_step); }
#else
#include <signal.h>
#include <ucontext.h>
#include <unwind.h>

struct walk {
    uintptr_t at;
    int frames; /* from the kernel's on */
};

static _Unwind_Reason_Code each(struct _Unwind_Context *context, void *seen)
{
    static const int kept[] = {3, 6, 12, 13, 14, 15}; /* by DWARF's numbers */
    struct walk *walk = seen;
    if (!walk->frames) {
        walk->frames = _Unwind_GetIP(context) == walk->at;
        return _URC_NO_REASON;
    }
    check(walk->at, "return address", 0, _Unwind_GetIP(context), (uintptr_t)stepped_return);
    check(walk->at, "stack pointer", 0, _Unwind_GetCFA(context), stepped_at);
    for (int i = 0; i < 6; i++) {
        int number = kept[i] == 6 ? 5 : kept[i]; /* rbp */
        check(walk->at, "register", number, _Unwind_GetGR(context, kept[i]), PLANTED + number);
    }
    walk->frames = 2;
    return _URC_NORMAL_STOP;
}

static void on_step(int signal, siginfo_t *info, void *context)
{
    struct walk walk = {((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP], 0};
    (void)signal, (void)info;
    if (is_own(walk.at))
        return;
    steps++;
    _Unwind_Backtrace(each, &walk);
    check(walk.at, "number of frames", 0, walk.frames, 2);
}

static void trap_steps(void)
{
    struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
    sigaction(SIGTRAP, &action, NULL);
}
#endif

#define A(value) (uintptr_t)(value)
#define CALL(name, ...) stepped(&(struct call){FUNCTION(name), {__VA_ARGS__}})

int main(void)
{
    static _Alignas(64) uint8_t ctx[8192], key[32], iv[12], aad[20], in[301], out[301], tag[16];
    int wrong = 0;
    trap_steps();
    CALL(init, A(ctx), A(key));
#define SEAL(iv_len)                                                                               \
    CALL(seal, A(ctx), A(iv), iv_len, A(aad), sizeof aad, A(in), sizeof in, A(out), A(tag))
#define OPEN(tag_len)                                                                              \
    CALL(open, A(ctx), A(iv), 12, A(aad), sizeof aad, A(out), sizeof in, A(in), A(tag), tag_len)
    wrong |= SEAL(12) != 0 || OPEN(16) != 0;
    wrong |= SEAL(0) != 2 || OPEN(3) != 2;
    tag[3] ^= 1;
    wrong |= OPEN(16) != 1;
    printf("%ld\n", steps);
    return 2 * wrong;
}
