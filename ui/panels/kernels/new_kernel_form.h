#pragma once
// The form that makes a file to start a kernel of one's own from: of which operation, in which language, where.

#include <array>
#include <optional>
#include <string>

#include "ui/frame/frame.h"
#include "ui/panels/kernels/own_kernels_desk.h"
#include "ui/panels/start/folder_browser.h"

namespace warpscope::ui {

class NewKernelForm {
 public:
  bool is_open() const { return open_; }
  /// `op`: the one that is chosen at first; else the one that takes the most time.
  void open(const training::Snapshot& snapshot, const KernelServices& services, std::optional<ops::Op> op);
  void close() { open_ = false; }
  /// Between frames: true if something new came.
  bool advance() { return folders_.advance() && open_; }
  /// What the form says now.
  const NewKernel& kernel() const { return kernel_; }
  /// What somebody wants to have made, if anything.
  std::optional<NewKernel> draw(const Frame& frame, const OwnKernelsDesk& desk);

 private:
  void set_folder(const std::string& folder);
  void set_name(const std::string& name);
  void suggest(const training::Snapshot& snapshot);
  void draw_op(const Frame& frame, const KernelServices& services);
  void draw_folder(const Frame& frame);
  bool draw_name(const Frame& frame);

  bool open_ = false;
  NewKernel kernel_;
  std::string suggested_;  ///< the name as it was suggested: another choice suggests another
  std::array<char, 4096> folder_{};
  std::array<char, 256> name_{};
  FolderBrowser folders_{{.name = "own_kernels.new.browse",
                          .label = "Browse",
                          .tip = "Choose a folder by clicks",
                          .ends = {},
                          .nothing = "No folders in here.",
                          .take_tip = "The file is made in it"}};
};

}  // namespace warpscope::ui
