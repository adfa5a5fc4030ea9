#pragma once
// The text of a kernel's file, to be read: its lines with their numbers, those with errors marked. It is read on a
// thread.

#include <map>
#include <string>
#include <vector>

#include "gpu/messages/user_kernels.h"
#include "ui/frame/frame.h"
#include "ui/jobs/background.h"

namespace warpscope::ui {

class KernelSourceView {
 public:
  /// Between frames: true if the text has come.
  bool advance();
  /// Fills the room that is left, `least` design pixels high at least. `version`: whose errors are marked; nullptr: of
  /// none.
  void draw(const Frame& frame, const training::UserKernel& kernel, const training::KernelVersion* version,
            float least);
  /// All of it; "" while it is not there.
  const std::string& text() const { return text_; }

 private:
  void follow(const training::UserKernel& kernel);
  void draw_line(const Frame& frame, int number, float left) const;

  std::string read_;  ///< what was asked for: the file and the content of its newest version
  std::string text_;
  std::vector<std::string> lines_;
  std::string error_;
  std::map<int, std::string> marked_;  ///< what is said of lines
  Background<std::string> reader_;
};

}  // namespace warpscope::ui
