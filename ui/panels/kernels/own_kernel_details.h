#pragma once
// One kernel of a person's own: what became of a version of it, its errors, its times beside the other variants, its
// figures beside those of the version before, and its text.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ui/frame/frame.h"
#include "ui/jobs/background.h"
#include "ui/panels/kernels/kernel_source_view.h"
#include "ui/panels/kernels/own_kernels_desk.h"
#include "ui/panels/kernels/own_kernels_rows.h"

namespace warpscope::ui {

class OwnKernelDetails {
 public:
  /// Between frames: true if something new came.
  bool advance();
  void draw(const Frame& frame, const training::UserKernel& kernel, const KernelServices& services);
  /// What could not be done, in a sentence, since the last call.
  std::optional<std::string> take_message() { return std::exchange(message_, {}); }
  bool shows_source() const { return shows_source_; }
  /// The number of the version that is shown; 0 for none.
  int version() const { return shown_; }

 private:
  void draw_title(const Frame& frame, const training::UserKernel& kernel);
  void draw_buttons(const Frame& frame, const training::UserKernel& kernel,
                    const training::KernelVersion* version, const KernelServices& services);
  void draw_racecheck(const Frame& frame, const training::UserKernel& kernel, const KernelServices& services);
  void draw_versions(const Frame& frame, const training::UserKernel& kernel,
                     const training::KernelVersion& version);

  std::string file_;  ///< UserKernel::file of the one that is shown
  int chosen_ = 0;    ///< its version; 0: the newest
  int shown_ = 0;
  bool shows_source_ = false;
  KernelSourceView source_;
  Background<std::string> races_;
  std::string races_said_;  ///< what was found in the file that is shown; "" before
  std::optional<std::string> message_;
};

/// The colour of a text that is meant so.
ImU32 tone_color(const Frame& frame, Tone tone);

}  // namespace warpscope::ui
