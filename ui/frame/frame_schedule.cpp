#include "ui/frame/frame_schedule.h"

#include <algorithm>

namespace warpscope::ui {

void FrameSchedule::drawn(double now) {
  const bool settled = now >= settle_at_ && frames_due_ == 0 && active_until_ <= last_ && change_at_ > now;
  settle_at_ = settled ? kNever : now + kSettle;
  last_ = now;
  if (frames_due_ > 0) --frames_due_;
  if (change_at_ <= now) change_at_ = kNever;
}

double FrameSchedule::next() const {
  if (hidden_) return kNever;
  double next = settle_at_;
  if (active_until_ > last_) next = std::min(next, last_ + kFullRate);
  if (frames_due_ > 0) next = std::min(next, last_ + data_rate_);
  if (change_at_ < kNever) next = std::min(next, std::max(change_at_, last_ + kFullRate));
  return next;
}

}  // namespace warpscope::ui
