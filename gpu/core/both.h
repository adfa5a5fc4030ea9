#pragma once
// What a function is marked with that runs on the CPU and in kernels.

#ifdef __CUDACC__
#define WARPSCOPE_BOTH __host__ __device__
#else
#define WARPSCOPE_BOTH
#endif
