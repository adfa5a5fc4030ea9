#include "ui/jobs/map_controller.h"

#include <utility>

#include "ui/settings/steering.h"

namespace warpscope::ui {

std::string MapController::why_not(const Frame& frame) const {
  std::string reason = source_.why_not(frame);
  if (!reason.empty() || is_view(frame)) return reason;
  constexpr std::int64_t kLeast = 4;
  return frame.snapshot.data->test.count < kLeast ? "There are too few test images for a map." : "";
}

void MapController::update(const Frame& frame) {
  state_.begin_frame();
  state_.take(desk_.state());
  if (const auto& map = state_->map) {
    auto& known = maps_[map->facts->method];
    if (known != map) subjects_[map->facts->method] = map->facts->subject;
    known = map;
  }
  if (!waits_) return;
  if (auto subject = source_.subject(frame, moment_)) start(std::move(*subject));
}

std::shared_ptr<const features::MapPicture> MapController::map() const {
  const auto found = maps_.find(method_);
  return found == maps_.end() ? nullptr : found->second;
}

void MapController::choose(const Frame& frame, const std::string& method) {
  show(method);
  const bool coming = waits_ || (state_->busy && state_->method == method);
  if (!method.empty() && !map() && !coming) make(frame);
}

void MapController::make(const Frame& frame) {
  if (method_.empty() || !why_not(frame).empty()) return;
  moment_ = source_.now();
  waits_ = true;
  if (auto subject = source_.subject(frame, moment_)) start(std::move(*subject));
}

void MapController::make_again() {
  const auto last = subjects_.find(method_);
  if (last != subjects_.end() && !waits_) start(last->second);
}

void MapController::start(features::Subject subject) {
  waits_ = false;
  if (method_.empty()) return;  // it is no longer wanted
  subjects_[method_] = subject;
  features::MapRequest request;
  request.subject = std::move(subject);
  request.method = method_;
  request.options = map_options(choice);
  request.images = choice.images;
  desk_.start(std::move(request));
  state_.take(desk_.state());
}

void MapController::cancel() {
  waits_ = false;
  desk_.cancel();
}

}  // namespace warpscope::ui
