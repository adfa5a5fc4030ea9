#pragma once
// Kernels that a person writes while the training runs: each file, whether it compiles, is right and is faster, and
// what runs.

#include <optional>
#include <span>
#include <string>
#include <utility>

#include "ui/frame/frame.h"
#include "ui/panels/kernels/new_kernel_form.h"
#include "ui/panels/kernels/own_kernel_details.h"
#include "ui/panels/kernels/own_kernels_desk.h"
#include "ui/panels/start/folder_browser.h"
#include "ui/widgets/table.h"

namespace warpscope::ui {

class OwnKernelsPanel {
 public:
  OwnKernelsPanel();
  static std::span<const Column> columns();
  OwnKernelsDesk& desk() { return desk_; }
  const OwnKernelsDesk& desk() const { return desk_; }

  /// Every frame: sends what was agreed to.
  void watch(const Frame& frame);
  void draw(const Frame& frame);
  /// The form for a new one, of `op` if it is given, stands there with the next draw(); the panel has to be shown.
  void make_new(const training::Snapshot& snapshot, std::optional<ops::Op> op = {});
  /// The list of folders and files opens with the next draw().
  void browse() { files_.open(); }
  /// True if the lesson was asked for since the last call.
  bool take_lesson() { return std::exchange(lesson_, false); }
  /// Between frames: true if something new came.
  bool advance();
  /// What could not be done, in a sentence, since the last call.
  std::optional<std::string> take_message() { return details_.take_message(); }

 private:
  void send_agreed(const Frame& frame);
  void draw_controls(const Frame& frame);
  void draw_folders(const Frame& frame);
  void draw_question(const Frame& frame);
  void draw_list(const Frame& frame, float width, float height);
  void draw_row(const Frame& frame, Table& table, const training::UserKernel& kernel);
  void draw_chosen(const Frame& frame);
  const training::UserKernel* chosen(const training::Snapshot& snapshot) const;
  void trace(const Frame& frame);

  OwnKernelsDesk desk_;
  NewKernelForm form_;
  OwnKernelDetails details_;
  FolderBrowser files_{{.name = "own_kernels.load",
                        .label = "Load...",
                        .tip = "Choose a file of a kernel, .cpp or .cu, or a folder that is watched for them",
                        .ends = {".cpp", ".cc", ".cxx", ".cu"},
                        .nothing = "No folders or files of kernels in here.",
                        .take = "Watch this folder",
                        .take_tip = "Each file of a kernel in it, now and later, is loaded"}};
  std::string chosen_;      ///< UserKernel::file; another is chosen where there is none of it
  std::size_t loaded_ = 0;  ///< files that were there
  bool lesson_ = false;
  std::string traced_;
};

}  // namespace warpscope::ui
