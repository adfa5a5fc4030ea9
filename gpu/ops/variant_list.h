#pragma once
// The end of each <op>.cpp: WARPSCOPE_VARIANTS(...) declares the functions that return the folder's variants, each of
// which is defined in the file named for it, and makes the list of what they return. What needs CUDA or a library
// stands behind the others, with the comma before it: WARPSCOPE_IF_CUDA(, naive_forward()).

#include <vector>

#include "gpu/ops/variant.h"

#define WARPSCOPE_VARIANTS(...)     \
  Variant __VA_ARGS__;              \
  std::vector<Variant> variants() { \
    return {__VA_ARGS__};           \
  }

#if WARPSCOPE_HAVE_CUDA
#define WARPSCOPE_IF_CUDA(...) __VA_ARGS__
#else
#define WARPSCOPE_IF_CUDA(...)
#endif
#if WARPSCOPE_HAVE_HOPPER
#define WARPSCOPE_IF_HOPPER(...) __VA_ARGS__
#else
#define WARPSCOPE_IF_HOPPER(...)
#endif
#if WARPSCOPE_HAVE_CUDNN
#define WARPSCOPE_IF_CUDNN(...) __VA_ARGS__
#else
#define WARPSCOPE_IF_CUDNN(...)
#endif
#if WARPSCOPE_HAVE_CUBLAS
#define WARPSCOPE_IF_CUBLAS(...) __VA_ARGS__
#else
#define WARPSCOPE_IF_CUBLAS(...)
#endif
