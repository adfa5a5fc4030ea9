#pragma once
// Jobs beside a training, on its device: what a window asks for, and how far they are.

#include <memory>
#include <string>
#include <variant>

#include "gpu/features/feature_desk.h"
#include "gpu/features/map_desk.h"
#include "gpu/jobs/laboratory.h"

namespace warpscope::jobs {

/// A classifier learns from features and is judged.
struct Judge {
  std::string layers;  ///< as features::parse_feature_layers() takes it
  bool standardize = true;
  features::JudgementRequest judgement;
  bool again = false;  ///< with the weights of the last result, where there is one, else with those of now
};
/// The same over C and gamma.
struct Search {
  Judge judge;
  features::GridAxes axes;
};
struct MakeMap {
  std::string method;  ///< of maps::map_table()
  maps::MapOptions options;
  std::int64_t images = 0;  ///< features::MapRequest::images
  bool again = false;       ///< with the weights of the method's last map, where there is one
};
/// Times variants on the shapes of a training step, and whole steps as the training takes them, which pauses meanwhile.
struct Bench {
  StepScene scene;
  profiling::BenchOptions options;
};
struct Verify {
  verify::VerifyOptions options;
};
/// Times a training step with CPU loops. A training on the CPU pauses meanwhile.
struct Baseline {
  StepScene scene;
};
enum class Desk : std::uint8_t { features, maps, laboratory };
struct Cancel {
  Desk desk{};
};
using Request = std::variant<Judge, Search, MakeMap, Bench, Verify, Baseline, Cancel>;

/// What each desk has done so far; never nullptr.
struct States {
  std::shared_ptr<const features::DeskState> features = std::make_shared<features::DeskState>();
  std::shared_ptr<const features::MapState> maps = std::make_shared<features::MapState>();
  std::shared_ptr<const LaboratoryState> laboratory = std::make_shared<LaboratoryState>();

  bool operator==(const States&) const = default;
};

class Jobs {
 public:
  virtual ~Jobs() = default;
  /// Returns at once. What the desk has under way is cancelled and replaced.
  virtual void ask(Request request) = 0;
  /// Never waits.
  virtual States states() const = 0;
};

}  // namespace warpscope::jobs
