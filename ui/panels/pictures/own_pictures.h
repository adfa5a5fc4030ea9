#pragma once
// A person's own pictures in the window: read by a thread, so that no disk makes a frame wait.

#include <filesystem>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/data/own_images.h"

namespace warpscope::ui {

/// The paths in a text that was pasted or dropped: one a line, as paths or as file:// addresses with their
/// %-escapes; empty lines and comments (#) are left out.
std::vector<std::filesystem::path> paths_in(std::string_view text);

class OwnPictures {
 public:
  /// Reads files and folders in place of what is there. What is under way is read first and given up.
  void open(std::vector<std::filesystem::path> paths, const data::ImageShape& shape);
  void close() { images_ = nullptr; }
  /// Takes what has been read: true, once, if something has. Pictures that were there stay if none could be read.
  bool advance();
  bool reading() const { return job_.valid(); }
  /// nullptr if there are none.
  const std::shared_ptr<const data::OwnImages>& images() const { return images_; }
  /// What advance() has to say: "7 pictures", "a.txt is no picture ...; 6 pictures".
  const std::string& message() const { return message_; }

 private:
  std::future<data::OwnImages> job_;
  std::optional<std::pair<std::vector<std::filesystem::path>, data::ImageShape>> next_;
  std::shared_ptr<const data::OwnImages> images_;
  std::string message_;
};

}  // namespace warpscope::ui
