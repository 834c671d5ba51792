// Another program in the place of this one.
#ifndef VKF_PROGRAM_HAND_OVER_H
#define VKF_PROGRAM_HAND_OVER_H

// Goes on as the program beside this one whose file's name has `suffix` behind it, with the same arguments, in the same
// process. Returns where there is none, and on Windows.
void vkf_hand_over(const char *suffix, char **argv);

#endif
