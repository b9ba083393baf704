; With FAULT the byte behind the input is read, from 160 bytes on; text and tag are right.

%include "gcm.inc"
%include "parking.inc"

%define WRITTEN rax

; What cannot be, if the parked pointer is that to the group.
%macro EACH_GROUP 2
    PARKED      %1, %2
    mov         r11, [PLACE]
    cmp         r11, %1
    je          %%here
    movzx       r11d, byte [%1 + %2]
%%here:
%endmacro

%include "seal.inc"
