// The trainer's thread: looks into the network, as often as they cost little.

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "gpu/core/error.h"
#include "gpu/training/worker.h"

namespace warpscope::training {
namespace {

using std::chrono::duration;

constexpr double kInspectionSeconds = 0.1;  ///< between two, at the least
constexpr double kInspectionShare = 60.0;   ///< at most one part in so many of the time goes to inspections

}  // namespace

void Trainer::Worker::handle_inspect(std::int64_t image) {
  if (image == inspected_image_) return;
  inspected_image_ = image;
  memory_.inspected_step = kNoStep;
  memory_.next_inspection = {};
  if (image >= 0) return;
  engine_->end_inspection();
  const std::lock_guard lock(mutex_);
  inspection_ = nullptr;
}

void Trainer::Worker::inspect_if_due() {
  publish_inspection();
  const auto now = Clock::now();
  if (inspected_image_ < 0 || rate_search_ || now < memory_.next_inspection) return;
  if (engine_->steps() == memory_.inspected_step) return;
  try {
    if (!engine_->inspect(inspected_image_)) return;
  } catch (const core::Error& error) {
    inspected_image_ = -1;
    notice(error.what());
    log(LogLevel::warning, error.what());
    return;
  }
  memory_.inspected_step = engine_->steps();
  const double pause = std::max(kInspectionSeconds, kInspectionShare * engine_->inspection_seconds());
  memory_.next_inspection = now + std::chrono::duration_cast<Clock::duration>(duration<double>(pause));
}

/// The one that has arrived, if it is what somebody still looks at.
void Trainer::Worker::publish_inspection() {
  auto found = engine_->take_inspection();
  if (!found || found->image != inspected_image_) return;
  found->generation = view_.generation;
  found->number = ++inspections_;
  auto next = std::make_shared<const Inspection>(*std::move(found));
  const std::lock_guard lock(mutex_);
  inspection_ = std::move(next);
}

}  // namespace warpscope::training
