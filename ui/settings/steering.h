#pragma once
// Controls that steer the training. In a window that shows the run of another process (Snapshot::viewing)
// they are disabled, and their tool-tips say why.

#include <string_view>

#include "ui/frame/frame.h"

namespace warpscope::ui {

/// True if this window shows a run that another process trains or has trained.
inline bool is_view(const Frame& frame) {
  return !frame.snapshot.viewing.empty();
}

inline constexpr std::string_view kNoSteering =
    "This window shows the run of another process: it cannot be steered from here.";

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
