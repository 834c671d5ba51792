// A small non-cryptographic hash (FNV-1a, 64 bits) for cache keys and to check that cached blobs are intact.
#ifndef VKF_BASE_HASH_H
#define VKF_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define VKF_HASH_SEED UINT64_C(0xcbf29ce484222325)

// Begin with VKF_HASH_SEED. The result of one part as the seed of the next hashes their concatenation.
uint64_t vkf__hash(uint64_t seed, const void *data, size_t size_bytes);

#endif
