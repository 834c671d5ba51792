// A model on two devices: what each dispatch wrote, submission by submission.
#ifndef VKF_PROGRAM_COMPARE_DEVICES_H
#define VKF_PROGRAM_COMPARE_DEVICES_H

typedef struct vkf_two_devices {
    const char *tested, *reference; // as --device takes them
    const char *directory;          // made here; gets tested/ and reference/, with what `run --dump` writes
    char *const *words;             // of `vkformer run`: the model, its texts and options
    int count;
} vkf_two_devices;

// Compares two files, and gives an exit code.
typedef int (*vkf_compare_files_fn)(void *user, const char *tested_path, const char *reference_path);

// Runs the model on both devices and compares the files of each submission, until two of them differ. Gives the exit
// code of what failed, or of the last comparison.
int vkf_compare_devices(const vkf_two_devices *devices, vkf_compare_files_fn compare, void *user);

#endif
