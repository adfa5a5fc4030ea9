#pragma once
// What people change of a training between two steps: variants and precision, settings, the network, all of it.

#include <string>

#include "gpu/models/model.h"
#include "gpu/ops/variant.h"
#include "gpu/plan/selection.h"
#include "gpu/settings/configuration.h"
#include "gpu/settings/training_settings.h"

namespace warpscope::training {

struct TrainingContext;

/// All but what only notes throw core::Error if it cannot be, with the training as it was.
class TrainingChanges {
 public:
  explicit TrainingChanges(TrainingContext& training) : training_(training) {}

  void select(const plan::Selection& selection);
  /// The same without a marker: `what` is told of it. `kernel`: another version of a user's kernel, by name.
  void choose(const plan::Selection& selection, const ops::Variants& variants, const std::string& what,
              const std::string& kernel = "");
  /// No plan changes.
  void take_table(ops::Variants variants);
  /// Once the training has ended only what shapes no weights; with more epochs, steps or time it can go on.
  void change(const Configuration& change);
  void set_network(const models::Model& network);
  /// First weights, step 0.
  void reset();
  void check_determinism();

  /// Gradients of FP16 are clipped unless somebody chose otherwise.
  void clip_by_default();
  void note_selection(const plan::Selection& selection);
  /// The ladder begins an entry.
  void note_choice();
  /// What was found out about the network before does not hold for this one.
  void follow_network();
  /// Another network or selection: the same step may give other pictures and looks, and they cost something else.
  void show_anew();

 private:
  void follow_change(const TrainingSettings& before);
  void go_on_after_end(const TrainingSettings& before);

  TrainingContext& training_;
};

}  // namespace warpscope::training
