#pragma once
// From the options to the first step of a training: the device, the data, the engine, and what is told of them.

#include <memory>
#include <string>

#include "gpu/engine/engine.h"
#include "gpu/plan/selection.h"

namespace warpscope::training {

struct AsideStart;
struct TrainingContext;

class Preparation {
 public:
  explicit Preparation(TrainingContext& training) : training_(training) {}

  /// Throws core::Error if the training cannot begin.
  void run();

 private:
  std::string open();
  void open_device();
  plan::Selection first_selection();
  std::string without_missing_kernels(const plan::Machine& machine);
  EngineOptions engine_options() const;
  void make_engine();
  std::unique_ptr<Engine> shared_engine(EngineOptions options);
  void describe_training();
  void begin_aside(const AsideStart& start);
  void tell_beginning();

  TrainingContext& training_;
  bool batch_chosen_ = false;  ///< by a person
};

}  // namespace warpscope::training
