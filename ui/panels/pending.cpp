#include "ui/panels/pending.h"

namespace warpscope::ui {

void Pending::sent(const training::Configuration& change, const training::Snapshot& snapshot, double now) {
  change_ = merge(change_, change);
  notice_id_ = snapshot.notice_id;
  generation_ = snapshot.generation;
  until_ = now + kMostSeconds;
}

const training::TrainingSettings& Pending::shown(const training::Snapshot& snapshot, double now) {
  if (change_.empty()) return *snapshot.settings;
  const bool over = values_of(*snapshot.settings, change_) == change_ || snapshot.notice_id != notice_id_ ||
                    snapshot.generation != generation_ || now >= until_;
  if (over) {
    change_ = {};
    return *snapshot.settings;
  }
  shown_ = *snapshot.settings;
  apply(change_, shown_);
  return shown_;
}

}  // namespace warpscope::ui
