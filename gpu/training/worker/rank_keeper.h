#pragma once
// The ranks that make the steps together with this one, other numbers of them, and those that are missing.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gpu/engine/engine.h"
#include "gpu/training/left_trainings.h"
#include "gpu/training/ranks.h"

namespace warpscope::training {

struct TrainingContext;

class RankKeeper {
 public:
  explicit RankKeeper(TrainingContext& training) : training_(training) {}

  /// The ranks of `meeting` begin: with the weights that this one has then.
  std::shared_ptr<calls::Line> lead_ranks(const std::shared_ptr<ranks::Meeting>& meeting,
                                          const std::vector<std::string>& devices, EngineOptions& options);
  /// All ranks have begun.
  void note();
  /// Their figures, and whether all are there. Throws ranks::RankMissing.
  void look(bool at_once = false);
  void measure_links();
  /// Other ranks make the steps from here on. Throws core::BadInput.
  void set_count(int ranks);
  /// While there is no engine: others of the same kind take the places of those that are left.
  void begin_without(const ranks::RankMissing& missing);
  /// The training goes on with fewer. Throws `missing` where it cannot, or is to stop.
  void go_on_without(const ranks::RankMissing& missing);
  /// How often other ranks than before have made the steps.
  std::uint64_t regroupings() const { return regroupings_; }

 private:
  using Clock = std::chrono::steady_clock;
  /// Which ranks are missing, and how they ended.
  struct Lost {
    std::vector<int> ranks;
    std::string sentence;
  };
  void tell_awaited(const std::vector<int>& ranks, const std::string& sentence) const;
  static Lost lost_of(const ranks::Meeting& meeting, const ranks::RankMissing& missing);
  void end_beginning();
  void regroup(const std::vector<std::string>& devices);
  void follow();
  std::optional<LeftState> kept_without_ranks(const ranks::RankMissing& missing);
  std::size_t go_on_on(std::vector<std::string> devices, const std::optional<LeftState>& left);
  std::vector<std::string> devices_without(const Lost& lost) const;
  Lost end_for_want_of(const ranks::RankMissing& missing);

  TrainingContext& training_;
  std::atomic<bool> ranks_have_begun_ = false;
  std::uint64_t regroupings_ = 0;
  ranks::LinkTable links_;  ///< as measured last
  Clock::time_point last_ranks_{};
};

}  // namespace warpscope::training
