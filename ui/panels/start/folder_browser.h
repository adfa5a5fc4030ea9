#pragma once
// Folders and files gone through by clicks, for somebody who types no path. They are read on a thread.

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ui/frame/frame.h"
#include "ui/jobs/background.h"

namespace warpscope::ui {

/// What is looked for.
struct Browsed {
  std::string name;   ///< of the button: "start.browse"
  const char* label;  ///< on it
  const char* tip;
  std::vector<std::string_view> ends;  ///< of the names of the files that can be chosen: ".toml"
  const char* nothing;                 ///< what is said of a folder without any
  const char* take = "Take this folder";
  const char* take_tip = "";
};

/// What a folder holds of it, by name; nothing that is hidden.
struct FolderListing {
  std::filesystem::path folder;
  std::vector<std::string> folders = {};
  std::vector<std::string> files = {};
};
/// The first `most` names of each kind. Throws std::filesystem::filesystem_error.
FolderListing list_folder(const std::filesystem::path& folder, const std::vector<std::string_view>& ends,
                          std::size_t most);

class FolderBrowser {
 public:
  explicit FolderBrowser(Browsed what) : what_(std::move(what)) {}

  /// Between frames: true if something new came.
  bool advance();
  /// A button and the list that it opens; what was chosen there, if anything: a file, or a folder where the list has a
  /// button that takes it. `enabled` and `tip`: of the button.
  std::optional<std::filesystem::path> draw(const Frame& frame, bool enabled = true,
                                            std::string_view tip = {});
  /// Width in pixels of the button.
  float width(const Frame& frame) const;
  /// The list opens with the next draw(), as by the button.
  void open() { opens_ = true; }
  /// Begins there when it is opened next.
  void begin_at(const std::filesystem::path& folder) { listing_ = {.folder = folder}; }

 private:
  void go_to(const std::filesystem::path& folder);
  std::optional<std::filesystem::path> draw_listing(const Frame& frame);
  std::optional<std::filesystem::path> draw_names(const Frame& frame);

  Browsed what_;
  bool opens_ = false;
  FolderListing listing_;
  std::string error_;
  Background<FolderListing> reader_;
};

}  // namespace warpscope::ui
