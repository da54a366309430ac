/* A program without any library, for the ELF loader to run: it ends as a witness does. */
#include <sys/syscall.h>

void _start(void);

void _start(void)
{
#ifdef __x86_64__
    __asm__ volatile("syscall" : : "a"((long)SYS_exit_group), "D"(42L));
#elif defined __aarch64__
    register long number __asm__("x8") = SYS_exit_group, status __asm__("x0") = 42;

    __asm__ volatile("svc 0" : : "r"(number), "r"(status));
#endif
    for (;;)
        ;
}
