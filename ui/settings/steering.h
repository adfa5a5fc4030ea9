#pragma once
// Controls that steer the training. In a window that cannot (Snapshot::can), as on the run of another
// process, they are disabled, and their tool-tips say why.

#include <string>
#include <string_view>

#include "ui/frame/frame.h"

namespace warpscope::ui {

/// Why this window cannot steer, as a sentence; "" if it can.
std::string why_no_steering(const training::Snapshot& snapshot);
/// What an empty panel invites to, or why this window cannot do it.
std::string invitation_or_why_not(const training::Snapshot& snapshot, const char* invitation);
/// Why the training makes no step and takes no setting now, as a sentence; "" if it does.
std::string why_it_stands(const training::Snapshot& snapshot);
/// Why this window cannot have anything saved, likewise.
std::string why_no_saving(const training::Snapshot& snapshot);

/// Why this window cannot look inside, likewise: what keeps it from a checkpoint of a run, else `otherwise`.
std::string why_no_look(const training::Snapshot& snapshot, const char* otherwise);
/// True once a run that is only looked at shows a checkpoint, and always of a training.
bool sees_network(const training::Snapshot& snapshot);
/// Pictures and predictions of the checkpoint are asked for: where `shown`, only if something else has had it loaded.
void ask_for_results(const Frame& frame, bool shown);

/// For as long as it lives, controls steer.
class Steering {
 public:
  explicit Steering(const Frame& frame);
  ~Steering();
  Steering(const Steering&) = delete;
  Steering& operator=(const Steering&) = delete;

 private:
  bool refused_;
};

/// Why the controls made now are disabled, as a sentence; "" if they are not, or for reasons of their own.
std::string_view steering_refusal();

}  // namespace warpscope::ui
