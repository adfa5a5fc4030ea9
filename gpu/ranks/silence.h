#pragma once
// Ranks that begin and do not answer: who has not looked for about a second is told of.

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "gpu/ranks/group.h"

namespace warpscope::ranks {

/// What rank 0 has seen of the others, by its own looks: a process that was stopped itself must not blame the others
/// for that time. Used by one thread, but for tell_to(), which comes first.
class Silence {
 public:
  /// One that has not answered yet may be starting: it is told of after `first_within`. `awaited`: what the others wait
  /// for, "" where the sentence needs not say it.
  Silence(int ranks, std::chrono::milliseconds first_within, std::string awaited = "")
      : seen_(static_cast<std::size_t>(ranks)), first_within_(first_within), awaited_(std::move(awaited)) {}

  void tell_to(TellSlow tell) { tell_ = std::move(tell); }
  /// How long `rank` has not answered, which has done so `answers` times; the last look was `passed` ago.
  std::chrono::milliseconds note(int rank, std::uint32_t answers, std::chrono::milliseconds passed);
  /// Those that have answered once and not for about a second.
  std::vector<int> silent() const;
  /// Tells of them where others than before are silent: "rank 2 (pid 123) has not answered within 1.0 s while it
  /// begins", by `name_of`; and once none is any more. `stopped`: no need to wait for its first answer.
  void tell(const std::function<std::string(int rank)>& name_of,
            const std::function<bool(int rank)>& stopped);
  /// What they began is done: who was silent is not any more.
  void end();

 private:
  struct Seen {
    std::uint32_t answers = 0;
    std::chrono::milliseconds since{0};
  };
  std::vector<Seen> seen_;  ///< by rank
  std::chrono::milliseconds first_within_;
  std::string awaited_;
  std::vector<int> told_;
  TellSlow tell_;
};

}  // namespace warpscope::ranks
