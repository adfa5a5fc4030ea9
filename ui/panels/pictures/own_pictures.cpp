#include "ui/panels/pictures/own_pictures.h"

#include <cctype>
#include <chrono>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "gpu/data/notices.h"
#include "gpu/files/file.h"
#include "ui/text/numbers.h"

namespace warpscope::ui {
namespace {

constexpr std::string_view kFileAddress = "file://";

int hexadecimal(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  const auto letter = static_cast<char>(std::tolower(static_cast<unsigned char>(digit)));
  return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}

/// The path of "file:///a%20b" or "file://host/a".
std::string path_of_address(std::string_view address) {
  address.remove_prefix(kFileAddress.size());
  address.remove_prefix(std::min(address.find('/'), address.size()));
  std::string path;
  for (std::size_t i = 0; i < address.size(); ++i) {
    const bool escaped = address[i] == '%' && i + 2 < address.size() && hexadecimal(address[i + 1]) >= 0 &&
                         hexadecimal(address[i + 2]) >= 0;
    if (!escaped) {
      path += address[i];
      continue;
    }
    path += static_cast<char>(16 * hexadecimal(address[i + 1]) + hexadecimal(address[i + 2]));
    i += 2;
  }
  return path;
}

std::string count_text(std::int64_t count) {
  return files::counted(static_cast<std::int64_t>(count), "picture");
}

/// What was not taken, what was, and what was done to it.
std::string describe(const data::OwnImages& images) {
  std::string told;
  if (!images.refused.empty()) {
    const std::size_t more = images.refused.size() - 1;
    told = images.refused.front() + (more == 0 ? "" : fmt::format(" (and {} more)", with_thousands(more)));
  }
  data::add_notice(images.left_out, told);
  data::add_notice(images.set.count == 0 ? "no picture could be read" : count_text(images.set.count), told);
  data::add_notice(images.turned, told);
  return told;
}

}  // namespace

std::vector<std::filesystem::path> paths_in(std::string_view text) {
  std::vector<std::filesystem::path> paths;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
    while (!line.empty() && line.front() == ' ') line.remove_prefix(1);
    if (line.empty() || line.front() == '#') continue;
    if (line.substr(0, kFileAddress.size()) == kFileAddress) {
      paths.emplace_back(path_of_address(line));
    } else {
      paths.emplace_back(line);
    }
  }
  return paths;
}

void OwnPictures::open(std::vector<std::filesystem::path> paths, const data::ImageShape& shape) {
  next_.emplace(std::move(paths), shape);
  if (job_.valid()) return;
  job_ = std::async(std::launch::async, [next = *std::exchange(next_, std::nullopt)] {
    return data::read_own_images(next.first, next.second);
  });
}

bool OwnPictures::advance() {
  if (!job_.valid() || job_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return false;
  data::OwnImages read = job_.get();
  if (next_) {
    auto [paths, shape] = *std::exchange(next_, std::nullopt);
    open(std::move(paths), shape);
    return false;
  }
  message_ = describe(read);
  if (read.set.count > 0) images_ = std::make_shared<const data::OwnImages>(std::move(read));
  return true;
}

}  // namespace warpscope::ui
