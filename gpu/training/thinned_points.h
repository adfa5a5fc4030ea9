#pragma once
// The curve of a training that nobody records, in little memory however long it is.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "gpu/messages/feed.h"

namespace warpscope::training {

/// Keeps evenly spread steps and evaluations of each generation, at most kMost of either, and the newest step; markers
/// likewise. Lines of the log are left aside.
class ThinnedPoints {
 public:
  static constexpr std::size_t kMost = 16384;

  void note(const FeedItem& item);
  /// Those of the present generation, in the order of their steps.
  std::vector<FeedItem> items() const;

 private:
  /// Every stride-th of what came; the stride doubles when there is no more room.
  struct Thinned {
    std::vector<FeedItem> kept;
    std::optional<FeedItem> last;
    std::uint64_t stride = 1, seen = 0;

    void add(const FeedItem& item);
  };
  struct Generation {
    std::uint64_t number = 0;
    Thinned steps, tests, markers;
  };
  static constexpr std::size_t kMostGenerations = 10;

  void begin(std::uint64_t number);
  void go_back(const Return& back);

  std::deque<Generation> generations_ = std::deque<Generation>(1);  ///< the present one last
};

/// The step of a point or marker; nothing for others.
std::optional<std::uint64_t> step_of(const FeedItem& item);

}  // namespace warpscope::training
