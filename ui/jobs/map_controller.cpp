#include "ui/jobs/map_controller.h"

#include "ui/jobs/features_controller.h"

namespace warpscope::ui {

std::string MapController::why_not(const Frame& frame) const {
  std::string reason = why_no_features(frame, model_);
  if (!reason.empty() || !frame.snapshot.can.look_inside) return reason;
  constexpr std::int64_t kLeast = 4;
  return frame.snapshot.data->test.count < kLeast ? "There are too few test images for a map." : "";
}

void MapController::update(const Frame& frame) {
  state_.begin_frame();
  jobs_ = frame.jobs;
  if (has_update()) state_.take(jobs_->states().maps);
  if (const auto& map = state_->map) maps_[map->facts->method] = map;
}

std::shared_ptr<const features::MapPicture> MapController::map() const {
  const auto found = maps_.find(method_);
  return found == maps_.end() ? nullptr : found->second;
}

void MapController::choose(const Frame& frame, const std::string& method) {
  show(method);
  const bool coming = state_->busy && state_->method == method;
  if (!method.empty() && !map() && !coming) make(frame);
}

void MapController::make(const Frame& frame) {
  if (!method_.empty() && why_not(frame).empty())
    ask(jobs::MakeMap{method_, map_options(choice), choice.images, false});
}

void MapController::make_again() {
  if (map()) ask(jobs::MakeMap{method_, map_options(choice), choice.images, true});
}

void MapController::ask(jobs::Request request) {
  if (jobs_ == nullptr) return;
  jobs_->ask(std::move(request));
  state_.take(jobs_->states().maps);
}

void MapController::cancel() {
  ask(jobs::Cancel{jobs::Desk::maps});
}

}  // namespace warpscope::ui
