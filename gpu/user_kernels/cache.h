#pragma once
// How much the cache of compiled kernels may hold. Several processes share it.

#include <chrono>
#include <cstdint>
#include <filesystem>

#include "gpu/ranks/descriptor.h"

namespace warpscope::user_kernels {

struct CacheLimits {
  std::uintmax_t bytes = std::uintmax_t{256} << 20;
  std::chrono::hours unused{24 * 30};  ///< what nobody has used for so long goes
  std::chrono::hours kept{24};         ///< what somebody has used since stays, whatever it takes
};

/// While there is one, nobody prunes the folder.
class CacheUse {
 public:
  explicit CacheUse(const std::filesystem::path& folder);
  /// `file` was used now.
  static void note(const std::filesystem::path& file);

 private:
  ranks::Descriptor lock_;
};

/// Removes compiled code, what belongs to it and headers of other versions of the program from `folder`: what is
/// unused, then what was used longest ago until the rest is within the limits. Nothing while another process uses or
/// prunes it, and no other file.
void prune(const std::filesystem::path& folder, const CacheLimits& limits = {});

}  // namespace warpscope::user_kernels
