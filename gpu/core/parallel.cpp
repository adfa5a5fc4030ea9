#include "gpu/core/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace warpscope::core {
namespace {

constexpr std::int64_t kMostThreads = 16;

std::int64_t thread_count(std::int64_t pieces, int threads) {
  const std::int64_t wanted = threads > 0
                                  ? std::int64_t{threads}
                                  : std::min<std::int64_t>(std::thread::hardware_concurrency(), kMostThreads);
  return std::clamp<std::int64_t>(wanted, 1, std::max<std::int64_t>(pieces, 1));
}

}  // namespace

void parallel_for(std::int64_t count, std::int64_t piece, int threads,
                  const std::function<void(std::int64_t, std::int64_t)>& body) {
  const std::int64_t pieces = (count + piece - 1) / piece;
  std::atomic<std::int64_t> next{0};
  std::mutex mutex;
  std::exception_ptr error;
  std::int64_t error_piece = pieces;

  const auto work = [&] {
    for (std::int64_t i = next++; i < pieces; i = next++) {
      try {
        body(i * piece, std::min(count, (i + 1) * piece));
      } catch (...) {
        next = pieces;
        const std::lock_guard lock(mutex);
        if (i < error_piece) {
          error_piece = i;
          error = std::current_exception();
        }
      }
    }
  };

  {
    std::vector<std::jthread> helpers;
    const std::int64_t helper_count = thread_count(pieces, threads) - 1;
    try {
      for (std::int64_t i = 0; i < helper_count; ++i) helpers.emplace_back(work);
    } catch (const std::system_error&) {
      // As many as the system grants: this thread does what is left.
    }
    work();
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace warpscope::core
