#pragma once
// Which of several engines that compute the same is the fastest here: timed on the device, once for each shape.
//
// What was found is kept for the process, and by device, driver and version in the file "cudnn" of the user's cache
// folder, so that a training that goes on in another process runs the same engines and has the same bits. A file that
// cannot be read or written is no error: then each process finds out for itself.

#if WARPSCOPE_HAVE_CUDNN

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>

#include "gpu/core/device.h"

namespace warpscope::ops::cudnn {

/// The search for one call's engine, from the making of its plans on.
class Search {
 public:
  /// `key`: all that the answer depends on beside the device, the driver and cuDNN, in one line.
  Search(core::Device& device, const std::string& key);

  /// How many ways are worth making, `most` at most: the searches of a network's plan take about a second together, and
  /// what is asked for after that, as what is known, is not timed.
  std::size_t worth_making(std::size_t most) const;

  /// One of `count` ways, of which 0 is the one that is taken without measuring: the fastest by more than noise. `run`
  /// enqueues one; a way whose run throws is not taken. `make_room` is called before the first; where it throws
  /// core::OutOfMemory, 0 is taken.
  std::size_t fastest(std::size_t count, const std::function<void()>& make_room,
                      const std::function<void(std::size_t way, core::Stream& stream)>& run) const;

 private:
  core::Device& device_;
  std::string key_;
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

}  // namespace warpscope::ops::cudnn

#endif
