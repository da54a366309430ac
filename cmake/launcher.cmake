# landlock-exec is one static, position-independent executable: nothing of the caller's can be loaded into it, and it starts at
# the cost of its system calls. musl where it is installed (package musl-tools), else static glibc, which takes longer to start.
# `dynamic` is for sanitizers and coverage, which cannot be static.

set(musl_folder /usr/lib/${CMAKE_SYSTEM_PROCESSOR}-linux-musl)
if(SANITIZE OR COVERAGE)
    set(default_libc dynamic)
elseif(EXISTS ${musl_folder}/musl-gcc.specs AND CMAKE_C_COMPILER_ID STREQUAL GNU)
    set(default_libc musl)
else()
    set(default_libc glibc)
endif()
set(LAUNCHER_LIBC ${default_libc} CACHE STRING "What landlock-exec is built against: musl, glibc or dynamic")
set_property(CACHE LAUNCHER_LIBC PROPERTY STRINGS musl glibc dynamic)
message(STATUS "landlock-exec is built against: ${LAUNCHER_LIBC}")

# The specs make a static executable or a dynamic PIE, not a static PIE: that takes musl's rcrt1.o, which relocates itself, in
# the place of the usual start file, and no dynamic linker. The kernel's headers stand behind musl's own.
function(link_with_musl target)
    foreach(object crtbeginS.o crtendS.o)
        execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=${object} OUTPUT_VARIABLE ${object}
                        OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
    endforeach()
    target_compile_options(${target} PRIVATE -specs=${musl_folder}/musl-gcc.specs -fPIE
                           "SHELL:-idirafter /usr/include" "SHELL:-idirafter /usr/include/${CMAKE_SYSTEM_PROCESSOR}-linux-gnu")
    target_link_options(${target} PRIVATE -specs=${musl_folder}/musl-gcc.specs -static -nostartfiles
                        ${musl_folder}/rcrt1.o ${musl_folder}/crti.o ${crtbeginS.o}
                        -Wl,-pie,--no-dynamic-linker,-z,text)
    target_link_libraries(${target} PRIVATE ${crtendS.o} ${musl_folder}/crtn.o)
endfunction()

function(add_launcher target libc)
    file(GLOB sources CONFIGURE_DEPENDS cmd/landlock-exec/*.c lib/base/*.c lib/command/*.c lib/policy/*.c lib/landlock/*.c
         lib/launch/*.c)
    list(APPEND sources lib/container/exchange.c) # what it says to its helper; the helper has the rest, and the libraries
    if(NOT libc STREQUAL dynamic)
        list(APPEND sources ${CMAKE_SOURCE_DIR}/lib/arena/arena.c) # the sanitizers bring their own malloc
    endif()
    add_executable(${target} ${sources})
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF) # the flags below say which kind
    target_include_directories(${target} PRIVATE lib)
    target_compile_definitions(${target} PRIVATE _GNU_SOURCE PROJECT_VERSION="${PROJECT_VERSION}" ${check_container}
                               DEFAULT_POLICY="${policy_folder}/default.policy")
    target_compile_options(${target} PRIVATE -ffunction-sections -fdata-sections -fno-asynchronous-unwind-tables)
    target_link_options(${target} PRIVATE -Wl,--gc-sections)
    harden(${target})
    if(libc STREQUAL musl)
        link_with_musl(${target})
    elseif(libc STREQUAL glibc)
        target_compile_options(${target} PRIVATE -fPIE)
        target_link_options(${target} PRIVATE -static-pie)
    elseif(libc STREQUAL dynamic)
        target_compile_options(${target} PRIVATE -fPIE)
        target_link_options(${target} PRIVATE -pie)
    else()
        message(FATAL_ERROR "LAUNCHER_LIBC is '${libc}'; expected musl, glibc or dynamic")
    endif()
endfunction()
