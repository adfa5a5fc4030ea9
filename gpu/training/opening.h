#pragma once
// What a training begins with, as it is asked for or as the run that it goes on with had it: data, initial weights,
// variants by measurement.

#include <atomic>
#include <memory>
#include <string>

#include "gpu/core/phases.h"
#include "gpu/engine/engine.h"
#include "gpu/training/inbox.h"
#include "gpu/training/publishing.h"
#include "gpu/training/trainer.h"

namespace warpscope::training {

class Opening {
 public:
  /// Holds the references.
  Opening(Publishing& publishing, const Surroundings& around, const Inbox& inbox, core::Phases& phases)
      : publishing_(publishing), around_(around), inbox_(inbox), phases_(phases) {}

  /// A data set and what is to be told of it.
  struct Reading {
    std::shared_ptr<const data::DataSet> data;
    std::string notice;
    std::string checksum;
    bool same = true;  ///< not other data than those that are known
  };
  /// Ends early once it is `refused` or the training is to end before it has begun: many pictures take time to be read.
  /// Any thread.
  Reading read(const std::string& source, const models::Model& model, const std::atomic<bool>& refused) const;
  /// The file of weights to begin with; "" for none. A run's folder stands for its last checkpoint.
  std::string initial_weights() const;
  /// A run that goes on takes what it ran with, if it is on the same kind of device; a new one what is measured.
  plan::MeasuredChoices measured_choices(const EngineOptions& options, const data::DataSet& data,
                                         const std::shared_ptr<core::Device>& device) const;
  /// A run that is gone on with has its weights itself: those that it began with count if it is reset.
  std::unique_ptr<Engine> engine(EngineOptions options, const std::shared_ptr<const data::DataSet>& data,
                                 const std::shared_ptr<core::Device>& device) const;

 private:
  const TrainingSettings& settings() const { return publishing_.settings(); }
  bool nobody_waits() const;
  double planned_steps(const data::DataSet& data) const;
  plan::MeasuredChoices measure(const EngineOptions& options, const data::DataSet& data,
                                const std::shared_ptr<core::Device>& device) const;

  Publishing& publishing_;
  const Surroundings& around_;
  const Inbox& inbox_;
  core::Phases& phases_;
};

}  // namespace warpscope::training
