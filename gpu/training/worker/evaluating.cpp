#include "gpu/training/worker/evaluating.h"

#include <cmath>

#include <fmt/format.h>

#include "gpu/files/file.h"
#include "gpu/training/worker/course.h"
#include "gpu/training/worker/training_context.h"

namespace warpscope::training {

void Evaluating::start(Split split, bool only_shows) {
  only_shows_ = only_shows;
  training_.engine->evaluator().start(split);
}

void Evaluating::advance() {
  const core::InnerPhase phase(training_.phases, "evaluation");
  training_.engine->evaluator().enqueue_batch();
  const auto evaluation = training_.engine->evaluator().collect();
  if (!evaluation) return;
  if (!only_shows_) return note(evaluation);
  training_.view.evaluation = evaluation;
  training_.reporter.publish(true);
}

void Evaluating::evaluate_all() {
  const core::InnerPhase phase(training_.phases, "evaluation");
  for (const Split split : {Split::validation, Split::test}) {
    if (split == Split::validation && training_.data->validation.count == 0) continue;
    if (is_noted(split)) continue;
    if (!training_.engine->evaluator().running() || only_shows_ || split == Split::test) start(split);
    while (!training_.engine->evaluator().enqueue_batch()) {
    }
    training_.engine->synchronize();
    if (const auto evaluation = training_.engine->evaluator().collect()) note(evaluation);
  }
}

bool Evaluating::is_noted(Split split) const {
  return noted_ != nullptr && noted_ == training_.view.evaluation && noted_in_ == training_.view.generation &&
         noted_->split == split && noted_->step == training_.engine->steps();
}

void Evaluating::note(const std::shared_ptr<const Evaluation>& evaluation) {
  training_.steering.note_evaluation(evaluation->step);
  training_.collector.collect(true);
  Point test{evaluation->step, evaluation->epoch, training_.view.seconds, evaluation->split};
  test[Metric::loss] = static_cast<float>(evaluation->loss);
  const Metric quality = training_.view.classifies ? Metric::accuracy : Metric::psnr;
  test[quality] = static_cast<float>(training_.view.classifies ? evaluation->accuracy : evaluation->psnr);
  if (evaluation->head) {
    test[Metric::head_loss] = static_cast<float>(evaluation->head_loss);
    test[Metric::head_accuracy] = static_cast<float>(evaluation->head_accuracy);
  }
  training_.publishing.emit(test);
  training_.moments.kept().note_evaluation(*evaluation, test);
  // Running statistics of norms can be what is wrong: no training loss shows these.
  const bool was_finite = !training_.view.evaluation || std::isfinite(training_.view.evaluation->loss);
  if (!std::isfinite(evaluation->loss) && was_finite && !training_.steering.diverged()) {
    training_.publishing.log(
        LogLevel::warning,
        fmt::format("the {} loss of step {} is not finite ({}), unlike the training's: look for "
                    "numbers that are not among weights and running statistics",
                    to_string(evaluation->split), files::grouped(evaluation->step), evaluation->loss));
  }
  training_.view.evaluation = noted_ = evaluation;
  noted_in_ = training_.view.generation;
  if (evaluation->split != steering_split(training_)) return;
  training_.view.last_test = test.values;
  if (const std::string change = training_.steering.judge(training_.settings(), *evaluation); !change.empty())
    training_.mark(change);
  if (!training_.steering.is_best(*evaluation) || !training_.keeper->may_write_best()) return;
  training_.steering.note_best(*evaluation);
  training_.moments.kept().note_best();
  training_.stepping.write_checkpoint(true);
}

}  // namespace warpscope::training
