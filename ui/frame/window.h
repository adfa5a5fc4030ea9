#pragma once
// The window: shows a training while it runs and lets a person steer it.

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gpu/core/error.h"
#include "gpu/data/sets.h"
#include "gpu/messages/source.h"
#include "gpu/runs/unsaved.h"
#include "gpu/training/trainer.h"
#include "ui/jobs/kernel_services.h"
#include "ui/jobs/start_services.h"

namespace warpscope::ui {

struct WindowOptions {
  training::TrainerOptions training;
  /// Shown instead of training; then `training` tells only the model. nullptr: train.
  std::shared_ptr<training::Source> source;
  /// PNG written before leaving, or by F12 if exit_after_steps is 0; "" for none.
  std::string screenshot_file;
  /// Leave once this many steps are drawn; 0: only when closed.
  std::uint64_t exit_after_steps = 0;
  /// Trainings that nobody recorded, which the window offers to go on with; the newest first.
  std::vector<runs::UnsavedTraining> unsaved;
  std::string notice;  ///< told at the beginning; "" for nothing
  /// Reads what the training in this folder goes on with; called on another thread, until `stopped`. Throws core::Error
  /// that says why it cannot be gone on with; this window still trains then.
  std::function<training::TrainerOptions(const std::filesystem::path&, const data::Stopped& stopped)>
      open_unsaved;
  StartServices start;      ///< of the start page
  KernelServices kernels;   ///< of the panel of own kernels
  bool start_page = false;  ///< it stands there at a first start, and the training waits for it
  int ranks = 1;            ///< of this program's own, with which the training goes on from its beginning
  int width = 0;            ///< pixels; 0: as remembered
  int height = 0;
  bool paint_on_cpu = false;  ///< the CPU draws in place of OpenGL (ui/paint)
  /// Once true (set by a signal), the window leaves as if it were closed.
  const std::atomic<bool>* leave = nullptr;
};

/// What takes the place of the window's training.
struct NextTraining {
  training::TrainerOptions options;
  int ranks = 1;                                                   ///< that the training before it had
  std::shared_ptr<const training::UserKernels> kernels = nullptr;  ///< that were loaded there
};

/// There is no display to open a window on.
class NoDisplay : public core::Error {
 public:
  using core::Error::Error;
};

/// Opens the window, trains or shows the source, and returns when it is closed: 0; 1 if its own training
/// failed, 2 if the input is to blame for that, with the reason on stderr. Throws NoDisplay, before anything
/// is begun; core::Error if there is no OpenGL 3.3, or if the screenshot cannot be written. `go_on` becomes the
/// training that is to take the place of this one, if any: an unsaved one, a run or a new one.
int run_window(const WindowOptions& options, std::optional<NextTraining>& go_on);
int run_window(const WindowOptions& options);

}  // namespace warpscope::ui
