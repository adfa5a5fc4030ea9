#pragma once
// What a person has chosen and the trainer has not taken up yet. No drawing here.

#include <cstdint>
#include <optional>
#include <utility>

#include "gpu/messages/snapshot.h"

namespace warpscope::ui {

/// The trainer takes a command at its next step boundary. Until then the sent value is shown, and further
/// changes build on it: a second one sent at once must not take back the first.
template <class Value>
class Pending {
 public:
  void sent(Value value, const training::Snapshot& snapshot, double now) {
    value_ = std::move(value);
    notice_id_ = snapshot.notice_id;
    generation_ = snapshot.generation;
    until_ = now + kMostSeconds;
  }
  /// The value that is on its way, else `current`, the trainer's. Forgets what has arrived, what was refused
  /// (a new notice) and what is overdue.
  Value shown(const Value& current, const training::Snapshot& snapshot, double now) {
    const bool over = value_ && (*value_ == current || snapshot.notice_id != notice_id_ ||
                                 snapshot.generation != generation_ || now >= until_);
    if (over) value_.reset();
    return value_ ? *value_ : current;
  }

 private:
  // A step of a large network on the CPU may take seconds.
  static constexpr double kMostSeconds = 20;

  std::optional<Value> value_;
  std::uint64_t notice_id_ = 0;
  std::uint64_t generation_ = 0;
  double until_ = 0;
};

}  // namespace warpscope::ui
