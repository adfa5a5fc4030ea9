#pragma once
// What rank 0 does to its engine and all other ranks do after it, in the same order: so a step that all make together
// is the same step for all, and what a person asks for takes effect at the same step everywhere, or nowhere.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "gpu/core/energy.h"
#include "gpu/core/host_memory.h"
#include "gpu/engine/engine_state.h"
#include "gpu/engine/rank_watch.h"
#include "gpu/messages/bytes.h"
#include "gpu/messages/evaluation.h"
#include "gpu/messages/rank_figures.h"
#include "gpu/models/model.h"
#include "gpu/plan/selection.h"
#include "gpu/ranks/collective.h"
#include "gpu/ranks/group.h"
#include "gpu/settings/training_settings.h"

namespace warpscope::ops::step {

inline std::array<std::uint8_t, sizeof(StepControl)> sent_as(const StepControl& control) {
  std::array<std::uint8_t, sizeof(StepControl)> bytes;
  std::memcpy(bytes.data(), &control, sizeof(control));
  return bytes;
}
inline void take_as(StepControl& control, const std::array<std::uint8_t, sizeof(StepControl)>& bytes) {
  std::memcpy(&control, bytes.data(), sizeof(control));
}

}  // namespace warpscope::ops::step

namespace warpscope::training::calls {

struct Step {
  float learning_rate = 0;
  bool timed = false;
};
/// Each rank looks at its part of the held-out images: an evaluation begins, goes on by a batch, and all give the
/// others what they have found.
struct StartEvaluation {
  Split split = Split::test;
};
struct EvaluateBatch {};
struct GatherEvaluation {};
/// Each rank tells the others its RankReport.
struct Report {};
/// All ranks together.
struct MeasureLinks {};
struct ClearHalt {};
struct Restore {
  EngineState state;
};
struct Remember {};
struct Forget {};
struct Recall {
  std::uint64_t steps = 0;
};
struct SetSelection {
  plan::Selection selection;
};
struct SetBatch {
  int batch = 0;
};
struct SetOptimizer {
  OptimizerSettings optimizer;
};
struct SetAugment {
  AugmentSettings augment;
};
struct SetNetwork {
  models::Model network;
};
/// Nothing comes after it.
struct End {};

using Call = std::variant<Step, StartEvaluation, EvaluateBatch, GatherEvaluation, Report, MeasureLinks,
                          ClearHalt, Restore, Remember, Forget, Recall, SetSelection, SetBatch, SetOptimizer,
                          SetAugment, SetNetwork, End>;

/// What a rank tells of itself.
struct RankReport {
  std::array<char, 16> device{};
  std::array<char, 80> name{};
  std::int64_t images = 0;
  double step_microseconds = 0;
  double allreduce_microseconds = 0;
  std::uint64_t memory_bytes = 0;
  core::GpuLoad load;
  TimedSteps newest{};
};

/// The calls of one training, as each rank has them. Used by one thread.
class Line {
 public:
  explicit Line(std::unique_ptr<ranks::Group> group);
  /// Rank 0 tells the others the end; what is thrown then is dropped.
  ~Line();
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  const ranks::Place& place() const { return group_->place(); }
  /// Rank 0 tells the others; they themselves tell nobody.
  void give(const Call& call);
  /// The next one, on another rank than 0. Waits.
  Call receive();

  /// A message of rank 0 before the first call.
  void give_first(const std::string& message);
  std::string receive_first();

  /// All ranks come here with what they met, "" if nothing, and wait for each other. Throws core::BadInput that names
  /// another rank that met something, where this one met nothing.
  void settle(const std::string& failure, const std::string& purpose = "a change of the training");
  /// Whether a settle() since the last question ended in a failure, which rank 0 then knows.
  bool take_refusal() { return std::exchange(refused_, false); }
  /// What all ranks give to this behind `step`, in their order; each calls it with as many bytes.
  std::vector<std::byte> gather(std::span<const std::byte> mine, ranks::Joint joint, std::uint64_t step);
  /// What all ranks tell behind `step`, and how their clocks are apart; each calls it with its own.
  std::vector<RankFigures> exchange(const RankReport& mine, std::uint64_t step);
  /// For collectives beside the calls, in the same order on all ranks.
  ranks::Group& group() { return *group_; }

 private:
  std::string told(ranks::Joint joint, std::uint64_t step) const;

  std::unique_ptr<ranks::Group> group_;
  MessageWriter writer_;
  MessageReader reader_;
  bool refused_ = false;
};

/// What `work` returns, if it throws on no rank. Else it throws on all, with nothing of `work` left: what it threw
/// here, or what another rank met. `line`: nullptr where there is one rank.
template <class Work>
auto settled(Line* line, Work work) -> decltype(work()) {
  if (line == nullptr) return work();
  std::optional<decltype(work())> result;
  try {
    result.emplace(work());
  } catch (const std::exception& error) {
    line->settle(core::sentence_of(error));
    throw;
  }
  line->settle("");
  return std::move(*result);
}

}  // namespace warpscope::training::calls
