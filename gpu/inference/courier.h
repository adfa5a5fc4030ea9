#pragma once
// Brings the answers of all ranks to rank 0 while later batches are computed, by a thread of its own.

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <span>
#include <thread>

#include "gpu/core/phases.h"
#include "gpu/inference/inference.h"
#include "gpu/inference/rank_report.h"
#include "gpu/ranks/group.h"

namespace warpscope::inference {

/// Rounds, to which all ranks come: each other rank gives what it has answered since the last one, and the last round
/// is that in which none has any more. While it lives the group is its own.
class Courier {
 public:
  /// On rank 0, by the courier's thread: what `rank` has answered next.
  using Arrived = std::function<void(int rank, const AnswerNumbers& numbers)>;

  explicit Courier(ranks::Group& group, Arrived arrived = {});
  /// Gives what there is, and waits until all ranks have given all.
  ~Courier();
  Courier(const Courier&) = delete;
  Courier& operator=(const Courier&) = delete;

  /// On another rank than 0: it answered these; none: there are no more.
  void give(std::span<const Answer> batch);
  /// On another rank than 0: it has failed, and gives what it has and no more.
  void give_up();
  /// On rank 0: another one has given up, and tells why once all have come to the end. From any thread.
  bool broken() const { return broken_; }
  /// As the destructor does. Throws what the rounds ended with, or what `arrived` did.
  void finish();

  /// After finish(): seconds that were spent on the rounds, without those of waiting for others.
  double seconds() const { return seconds_; }
  /// After finish(): when the last round was over.
  core::Clock::time_point end() const { return end_; }

 private:
  struct Head;

  void run();
  /// False after the last.
  bool round();
  AnswerNumbers load(Head& head);
  void take(int rank, std::span<const std::byte> message);
  void note_end();

  ranks::Group& group_;
  Arrived arrived_;
  std::mutex mutex_;
  std::condition_variable changed_;
  AnswerNumbers waiting_;  ///< what the next round takes
  bool ended_ = false;
  bool failed_ = false;
  std::atomic<bool> broken_ = false;
  std::exception_ptr failure_;
  double seconds_ = 0;
  core::Clock::time_point last_round_, end_;
  std::jthread thread_;  ///< the last one, so that it ends first
};

}  // namespace warpscope::inference
