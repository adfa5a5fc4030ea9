#pragma once
// Trainers of the tiny network, and what tests read from them.

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/training/trainer.h"
#include "tests/support/tiny.h"
#include "tests/support/tiny_classifier.h"
#include "tests/support/waiting.h"

namespace warpscope::tests {

/// Plain SGD in FP32, at one rate. No limit, no pictures, no run folder: it trains until it is told to stop.
inline training::TrainerOptions tiny_trainer_options() {
  training::TrainerOptions options;
  options.model = tiny_model();
  options.data_set = std::make_shared<data::DataSet>(tiny_data());
  options.device = "cpu";
  options.select = "all=loops";
  options.precision = core::Precision::fp32;
  options.batch = 8;
  options.optimizer = training::defaults_of(ops::UpdateRule::sgd);
  options.optimizer.learning_rate = 0.1f;
  options.schedule = {};
  options.pause_on_divergence = false;
  options.seed = 5;
  options.shown_images = 0;
  options.test_images = 12;
  return options;
}

/// A paused training of the tiny classifier by Adam with a warmup: one whose state is more than its weights.
inline training::TrainerOptions paused_classifier_options() {
  training::TrainerOptions options = tiny_trainer_options();
  options.model = tiny_classifier();
  options.data_set = std::make_shared<data::DataSet>(labelled_data(48, 12));
  options.optimizer = training::defaults_of(ops::UpdateRule::adam);
  options.schedule = training::parse_schedule("constant:warmup=1");
  options.start_paused = true;
  return options;
}

/// Waits until a snapshot fulfils `condition`; a test failure and false if none does.
template <class Condition>
bool wait_until(const training::Trainer& trainer, Condition condition) {
  if (trainer.wait_until(std::ref(condition), kPatience)) return true;
  const auto last = trainer.snapshot();
  ADD_FAILURE() << "still " << training::to_string(last->state) << " at step " << last->step << ", notice '"
                << last->notice << "'";
  return false;
}

inline bool wait_for_state(const training::Trainer& trainer, training::TrainerState state) {
  return wait_until(trainer, [state](const training::Snapshot& now) { return now.state == state; });
}
inline bool wait_for_step(const training::Trainer& trainer, std::uint64_t step) {
  return wait_until(trainer, [step](const training::Snapshot& now) { return now.step >= step; });
}
inline bool wait_for_notice(const training::Trainer& trainer, std::uint64_t id) {
  return wait_until(trainer, [id](const training::Snapshot& now) { return now.notice_id >= id; });
}

/// Waits until a trainer that neither trains nor has commands left has been through its loop once more from
/// begin to end: what it might do by itself it has done then. Each round publishes a snapshot at its end; the
/// first that is seen here may be of a round that began before the call.
inline bool wait_for_an_idle_round(const training::Trainer& trainer) {
  return wait_until(trainer, [newer = -1](const training::Snapshot&) mutable { return ++newer == 2; });
}

/// Waits until all commands sent before have been handled, also by a training that has finished.
inline bool wait_for_commands(training::Trainer& trainer) {
  const std::uint64_t number = trainer.snapshot()->answers.last + 1;
  trainer.send(training::Change{}, number);
  return wait_until(trainer, [=](const training::Snapshot& now) { return now.answers.last >= number; });
}

/// Everything that came through a feed.
class FeedLog {
 public:
  explicit FeedLog(std::shared_ptr<training::Feed> feed) : feed_(std::move(feed)) {}

  const std::vector<training::FeedItem>& items() {
    for (training::FeedItem& item : feed_->take()) items_.push_back(std::move(item));
    return items_;
  }
  template <class Item>
  std::vector<Item> all() {
    std::vector<Item> found;
    for (const training::FeedItem& item : items()) {
      if (const auto* one = std::get_if<Item>(&item)) found.push_back(*one);
    }
    return found;
  }
  std::vector<training::Point> steps() { return points(true); }
  std::vector<training::Point> tests() { return points(false); }
  /// The texts of all markers.
  std::vector<std::string> markers() {
    std::vector<std::string> texts;
    for (const training::Marker& marker : all<training::Marker>()) texts.push_back(marker.text);
    return texts;
  }
  /// The losses of each generation. A test failure if a step of any is missing, doubled or out of order.
  std::vector<std::vector<float>> curves() {
    std::vector<std::vector<float>> curves(1);
    for (const training::FeedItem& item : items()) {
      if (std::holds_alternative<training::Restart>(item)) curves.emplace_back();
      if (const auto* back = std::get_if<training::Return>(&item)) {
        std::vector<float> again = curves.at(back->from);
        again.resize(back->step);
        curves.push_back(std::move(again));
        EXPECT_EQ(back->generation + 1, curves.size());
      }
      const auto* const point = std::get_if<training::Point>(&item);
      if (point != nullptr && point->split == training::Split::train) {
        curves.back().push_back((*point)[training::Metric::loss]);
        EXPECT_EQ(point->step, curves.back().size()) << "in generation " << curves.size() - 1;
      }
    }
    return curves;
  }

 private:
  std::vector<training::Point> points(bool of_steps) {
    auto found = all<training::Point>();
    std::erase_if(found,
                  [&](const auto& point) { return (point.split == training::Split::train) != of_steps; });
    return found;
  }

  std::shared_ptr<training::Feed> feed_;
  std::vector<training::FeedItem> items_;
};

}  // namespace warpscope::tests
