# What every target is compiled and linked with.

include(CheckCCompilerFlag)
check_c_compiler_flag(-fcf-protection=full HAVE_CF_PROTECTION)           # x86: CET
check_c_compiler_flag(-mbranch-protection=standard HAVE_BRANCH_PROTECTION) # arm64: PAC and BTI
check_c_compiler_flag(-fstack-clash-protection HAVE_STACK_CLASH_PROTECTION)

set(warnings -Wall -Wextra -Werror -Wshadow -Wconversion -Wno-sign-conversion -Wstrict-prototypes -Wmissing-prototypes
    -Wpointer-arith -Wwrite-strings -Wvla -Wformat=2 -Wundef)

set(hardening -fstack-protector-strong
    $<$<BOOL:${HAVE_STACK_CLASH_PROTECTION}>:-fstack-clash-protection>
    $<$<BOOL:${HAVE_CF_PROTECTION}>:-fcf-protection=full>
    $<$<BOOL:${HAVE_BRANCH_PROTECTION}>:-mbranch-protection=standard>)

# _FORTIFY_SOURCE needs optimisation, and the sanitizers see more without it.
set(fortify $<$<AND:$<CONFIG:Release,RelWithDebInfo,MinSizeRel>,$<NOT:$<BOOL:${SANITIZE}>>>:-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3>)

function(harden target)
    target_compile_options(${target} PRIVATE ${warnings} ${hardening} "${fortify}")
    target_link_options(${target} PRIVATE -Wl,-z,relro,-z,now,-z,noexecstack,-z,separate-code)
    if(SANITIZE)
        target_compile_options(${target} PRIVATE -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
        target_link_options(${target} PUBLIC -fsanitize=address,undefined)
    endif()
    if(COVERAGE)
        target_compile_options(${target} PRIVATE --coverage -fprofile-update=atomic)
        target_link_options(${target} PUBLIC --coverage)
        get_target_property(type ${target} TYPE)
        if(type STREQUAL EXECUTABLE)
            target_sources(${target} PRIVATE ${CMAKE_SOURCE_DIR}/tests/builds/keep_counts.c)
            target_link_options(${target} PRIVATE -Wl,--wrap=open,--wrap=_exit)
        endif()
    endif()
endfunction()
