#pragma once
// Folders and files gone through by clicks, for somebody who types no path. They are read on a thread.

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "ui/frame/frame.h"
#include "ui/jobs/background.h"

namespace warpscope::ui {

/// What a folder holds that the start page takes, by name; nothing that is hidden.
struct FolderListing {
  std::filesystem::path folder;
  std::vector<std::string> folders = {};
  std::vector<std::string> files = {};  ///< networks and weights
};
/// The first `most` names of each kind. Throws std::filesystem::filesystem_error.
FolderListing list_folder(const std::filesystem::path& folder, std::size_t most);

class FolderBrowser {
 public:
  /// Between frames: true if something new came.
  bool advance();
  /// A button and the list that it opens; what was chosen there, if anything.
  std::optional<std::filesystem::path> draw(const Frame& frame);
  /// Width in pixels of the button.
  static float width(const Frame& frame);

 private:
  void go_to(const std::filesystem::path& folder);
  std::optional<std::filesystem::path> draw_listing(const Frame& frame);
  std::optional<std::filesystem::path> draw_names(const Frame& frame);

  FolderListing listing_;
  std::string error_;
  Background<FolderListing> reader_;
};

}  // namespace warpscope::ui
