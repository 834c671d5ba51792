// What ends a program from outside, and what may end it from inside, as a system has it.
#ifndef VKF_PROGRAM_RUN_APART_H
#define VKF_PROGRAM_RUN_APART_H

typedef struct vkf_apart_result {
    int code;   // what run() returned, or -1
    int signal; // by which it crashed, or 0
} vkf_apart_result;

// Calls run(user) in a process of its own, so that a crash there is a result. No process could be made where both code
// and signal say nothing. On Windows there is no such process: a crash is one of the program.
vkf_apart_result vkf_run_apart(int (*run)(void *user), void *user);

// Has the first interrupt (Ctrl-C, or the wish that the program may end) call the handler; the next one ends the
// program. What the process was started to ignore, as by nohup, stays ignored. vkf_release_interrupts() sets back what
// was.
void vkf_catch_interrupts(void (*handler)(int number));
void vkf_release_interrupts(void);

#endif
