; `open_many` written by hand, one message after the other, each as in gcm_open.asm, whose macros it
; takes. A record of 80 bytes: iv, aad, in, out, tag, len, aad_len, iv_len, tag_len, status.
;
;   void gcm_open_many(const uint8_t table[], struct ghashgen_message *messages, size_t count);

%define LENGTH      [rbx + 40]
%define OUT         [rbx + 24]
%define TAG         [rbx + 32]
%define TAG_LENGTH  [rbx + 64]

global gcm_open_many
gcm_open_many:
    push        rbx
    push        rbp
    mov         rbx, rsi
    mov         rbp, rdx
.next:
    test        rbp, rbp
    jz          .none
    mov         rsi, [rbx]
    mov         rcx, [rbx + 8]
    mov         r9, [rbx + 16]
    mov         rdx, [rbx + 56]
    mov         r8, [rbx + 48]
    BODY
.end:
    mov         [rbx + STATUS_AT], rax
    add         rbx, 80
    sub         rbp, 1
    jmp         .next
.none:
    pop         rbp
    pop         rbx
    ret
