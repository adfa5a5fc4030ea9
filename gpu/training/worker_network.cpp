// The trainer's thread: another network in the place of the one that trains.

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/models/model_file.h"
#include "gpu/training/worker.h"

namespace warpscope::training {
namespace {

/// As a run folder will hold it. Throws core::BadInput if it cannot be held.
models::Model as_written(const models::Model& network) {
  models::Model named = models::with_name_of_its_own(models::with_head(network, 0));
  models::check_model(named);
  models::Model read = models::model_of(models::text_of(named));
  if (read != named) {
    throw core::BadInput(
        fmt::format("network {} has settings that no file of a network can hold", named.name));
  }
  return named;
}

}  // namespace

void Trainer::Worker::handle_network(const models::Model& network) {
  const models::Model named = as_written(network);
  if (named == settings().model) return;
  drain();  // the speeds of the steps under way belong to the network before
  if (memory_.divergence_pending) {
    throw core::BadInput("the training has just diverged: the network can be changed once it is told where");
  }
  LeftState before = left_now();
  const CarriedOver carried = engine_->set_network(named);
  keep(std::move(before));
  begin_training();
  edit_settings([&](TrainingSettings& s) {
    s.model = named;
    s.init_file.clear();
    s.init_partly = false;
  });
  follow_network();
  mark(fmt::format("network changed: {} of {} tensors carried over", carried.tensors, carried.of));
  if (checkpoints_) {
    // run.json names the new network only once there is a checkpoint of it to go on from.
    checkpoints_->follow(named);
    write_checkpoint(false);
    checkpoints_->flush();
    note_checkpoints();
  }
  note_settings();
  publish(true);
}

/// Losses of evaluations are other ones from here on: neither better nor worse than those before.
void Trainer::Worker::forget_evaluations() {
  memory_.best_loss.reset();
  memory_.stops = {};
  memory_.plateau.best.reset();
  memory_.plateau.bad_epochs = 0;
}

/// What was found out about the network before does not hold for this one.
void Trainer::Worker::follow_network() {
  view_.network = std::make_shared<const models::Model>(settings().model);
  ++view_.network_number;
  view_.model = settings().model.name;
  view_.parameters = models::parameter_layout(engine_->model()).count;
  view_.plan_bytes = engine_->plan_bytes();
  view_.divergence.can_roll_back = false;
  ladder_.change_network();
  note_choice();
  memory_.speeds.clear();
  show_anew();
  memory_.spikes = {};
  forget_evaluations();
  remember();
  observe_another_network();
}

}  // namespace warpscope::training
