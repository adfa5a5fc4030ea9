#pragma once
// What a device has allocated, by address.

#include <cstddef>
#include <mutex>
#include <unordered_map>

namespace warpscope::core {

/// Any thread may call it.
class Allocations {
 public:
  void note(void* memory, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    sizes_[memory] = bytes;
    bytes_ += bytes;
  }
  /// Call it before the memory is freed: afterwards another thread may already have been given the same address.
  void forget(void* memory) noexcept {
    const std::lock_guard lock(mutex_);
    const auto found = sizes_.find(memory);
    if (found == sizes_.end()) return;
    bytes_ -= found->second;
    sizes_.erase(found);
  }
  std::size_t bytes() const {
    const std::lock_guard lock(mutex_);
    return bytes_;
  }

 private:
  mutable std::mutex mutex_;
  std::unordered_map<void*, std::size_t> sizes_;
  std::size_t bytes_ = 0;
};

}  // namespace warpscope::core
