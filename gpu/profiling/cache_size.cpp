#include "gpu/profiling/cache_size.h"

#include <algorithm>

#include <unistd.h>

#if WARPSCOPE_HAVE_CUDA
#include "gpu/core/cuda.h"
#endif

namespace warpscope::profiling {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

std::size_t cpu_cache_bytes() {
  long bytes = 0;
#ifdef _SC_LEVEL3_CACHE_SIZE
  bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
#endif
  return bytes > 0 ? std::min(static_cast<std::size_t>(bytes), 64 * kMiB) : 32 * kMiB;
}

}  // namespace

std::size_t cache_bytes(const core::DeviceInfo& device) {
#if WARPSCOPE_HAVE_CUDA
  if (device.kind == core::DeviceKind::cuda) {
    int bytes = 0;
    core::check_cuda(cudaDeviceGetAttribute(&bytes, cudaDevAttrL2CacheSize, device.index),
                     "cudaDeviceGetAttribute");
    return std::max(static_cast<std::size_t>(bytes), kMiB);
  }
#endif
  return device.kind == core::DeviceKind::cpu ? cpu_cache_bytes() : 32 * kMiB;
}

}  // namespace warpscope::profiling
