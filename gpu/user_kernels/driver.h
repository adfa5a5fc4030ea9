#pragma once
// CUDA's driver, opened when the first kernel for a GPU is loaded. Nothing here needs CUDA to be built: the functions
// that are called are declared here, as <cuda.h> has them, and are looked up in the library.

#include <cstddef>
#include <cstdint>
#include <string>

namespace warpscope::user_kernels {

inline constexpr int kSuccess = 0;

struct Driver {
  int (*load)(void** module, const void* image) = nullptr;
  int (*unload)(void* module) = nullptr;
  int (*function)(void** function, void* module, const char* name) = nullptr;
  int (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
                void**) = nullptr;
  int (*allocate)(std::uint64_t*, std::size_t) = nullptr;
  int (*free)(std::uint64_t) = nullptr;
  int (*to_host)(void*, std::uint64_t, std::size_t) = nullptr;
  int (*error_text)(int, const char**) = nullptr;
  int (*synchronize)() = nullptr;
  int (*device)(int*) = nullptr;
  int (*device_attribute)(int*, int attribute, int device) = nullptr;
  int (*function_attribute)(int*, int attribute, void* function) = nullptr;
  int (*resident_blocks)(int*, void* function, int threads, std::size_t shared) = nullptr;
  std::string missing;  ///< why it cannot be called, or ""

  Driver();
};

const Driver& driver();

/// What an error of the driver's says of a kernel, behind its name: "touches memory that is not its own".
std::string failure_text(int result);

}  // namespace warpscope::user_kernels
