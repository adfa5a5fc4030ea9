#include "gpu/ranks/looking.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>

namespace warpscope::ranks {
namespace {

constexpr std::chrono::milliseconds kLookEvery(100);

}  // namespace

Looking::Looking(const Meeting& meeting)
    : thread_([&meeting](const std::stop_token& stop) {
        std::mutex mutex;
        std::condition_variable_any ends;
        std::unique_lock lock(mutex);
        while (!stop.stop_requested()) {
          meeting.look(kLookEvery);
          ends.wait_for(lock, stop, kLookEvery, [] { return false; });
        }
      }) {}

}  // namespace warpscope::ranks
