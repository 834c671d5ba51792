// What a signal that ends the program takes with it.
#ifndef VKF_PROGRAM_REMOVE_ON_SIGNAL_H
#define VKF_PROGRAM_REMOVE_ON_SIGNAL_H

// Has an interrupt (Ctrl-C, the wish that the program may end, a terminal that goes away) remove this file before it
// ends the program; NULL: none any more. A signal that is ignored, or that a command handles itself, does nothing here.
void vkf_remove_on_signal(const char *path);

#endif
