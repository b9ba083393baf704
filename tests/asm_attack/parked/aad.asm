; With FAULT every group from the second of 160 bytes on is read where the first one is.

%include "gcm.inc"
%include "parking.inc"

%define WRITTEN rsi

; The group is where the parked pointer says.
%macro EACH_GROUP 2
    PARKED      %1, %2
    mov         %1, [PLACE]
%endmacro

%include "aad.inc"
