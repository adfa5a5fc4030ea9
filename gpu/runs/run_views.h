#pragma once
// Records what views show at earlier steps in views.bin of a run folder (view_file.h), beside the other files of the
// run: what fails here ends only this.

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <variant>
#include <vector>

#include "gpu/messages/feed.h"
#include "gpu/runs/view_file.h"

namespace warpscope::training {

/// May be used by several threads; write() waits for the disk, the others never.
class RunViews {
 public:
  /// Where they go; what was taken before is dropped.
  void begin(std::unique_ptr<runs::ViewFile> file);
  void take(const KeptView& view);
  void take(const Return& back);
  /// Writes what was taken, unless the disk is so full that other files of the run should have the rest (too_full()).
  void write();
  /// Why no more are written, once; "" if all is well.
  std::string take_warning();

 private:
  std::mutex writing_;  ///< of the file
  std::unique_ptr<runs::ViewFile> file_;

  std::mutex mutex_;     ///< of what is handed over
  bool writes_ = false;  ///< there is a file, and all could be written so far
  std::vector<std::variant<KeptView, Return>> waiting_;
  std::string warning_;
};

}  // namespace warpscope::training
