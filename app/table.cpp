#include "app/table.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "gpu/charts/numbers.h"
#include "gpu/core/error.h"
#include "gpu/files/atomic_file.h"
#include "gpu/files/streams.h"
#include "gpu/files/text.h"
#include "gpu/files/utf8.h"

namespace warpscope::app {
namespace {

namespace fs = std::filesystem;

/// The number of code points in UTF-8 text: continuation bytes are not counted.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0u) != 0x80u; }));
}

/// Its first and last characters with dots between them, so many in all.
std::string cut_to(const std::string& text, std::size_t most) {
  constexpr std::string_view kDots = "...";
  const std::vector<char32_t> points = files::decode_utf8(text);
  if (points.size() <= most) return text;
  const std::size_t kept = most - kDots.size();
  std::string cut;
  for (std::size_t i = 0; i < kept - kept / 2; ++i) cut += files::encode_utf8(points[i]);
  cut += kDots;
  for (std::size_t i = points.size() - kept / 2; i < points.size(); ++i) cut += files::encode_utf8(points[i]);
  return cut;
}

}  // namespace

std::string padded(const std::string& text, std::size_t columns, Align align) {
  const std::size_t width = width_of(text);
  const std::string space(columns > width ? columns - width : 0, ' ');
  return align == Align::left ? text + space : space + text;
}

std::string toned(const std::string& text, Tone tone) {
  if (tone == Tone::plain || isatty(STDOUT_FILENO) != 1) return text;
  return fmt::format("\x1b[{}m{}\x1b[0m", tone == Tone::dim ? 2 : 31, text);
}

void Table::add(std::vector<std::string> cells, Tone tone) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    cells[i] = files::sayable(cells[i]);
    if (columns_[i].most > 0) cells[i] = cut_to(cells[i], columns_[i].most);
  }
  rows_.push_back({std::move(cells), tone});
}

std::string Table::line(const std::vector<std::string>& cells, const std::vector<std::size_t>& widths) const {
  std::string text;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) text += "  ";
    text += i + 1 == cells.size() && cells.size() < columns_.size()
                ? cells[i]
                : padded(cells[i], widths[i], columns_[i].align);
  }
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

std::string Table::text() const {
  std::vector<std::string> titles;
  std::vector<std::size_t> widths;
  for (const Column& column : columns_) {
    titles.push_back(column.title);
    widths.push_back(width_of(column.title));
  }
  for (const Row& row : rows_) {
    // A last cell that runs on does not widen its column.
    const std::size_t cells = row.cells.size() < columns_.size() ? row.cells.size() - 1 : row.cells.size();
    for (std::size_t i = 0; i < cells; ++i) widths[i] = std::max(widths[i], width_of(row.cells[i]));
  }
  std::string text = line(titles, widths) + "\n";
  for (const Row& row : rows_) text += toned(line(row.cells, widths), row.tone) + "\n";
  return text;
}

ProgressLine::ProgressLine() : terminal_(isatty(STDERR_FILENO) == 1) {}

ProgressLine::~ProgressLine() {
  clear();
}

void ProgressLine::show(int done, int total, const std::string& text) {
  if (!terminal_) return;
  files::put_aside(fmt::format("\r\x1b[2K{}/{}  {}", done, total, files::sayable(text.substr(0, 60))));
  drawn_ = true;
}

void ProgressLine::clear() {
  if (drawn_) files::put_aside("\r\x1b[2K");
  drawn_ = false;
}

std::string bytes_text(double bytes) {
  if (bytes <= 0) return "0";
  if (bytes < 1024) return fmt::format("{:.0f} B", bytes);
  const char* unit = "KiB";
  double scaled = bytes / 1024;
  for (const char* larger : {"MiB", "GiB"}) {
    if (scaled < 1024) break;
    scaled /= 1024;
    unit = larger;
  }
  return fmt::format("{:.1f} {}", scaled, unit);
}

std::string figure(double value) {
  if (value == 0) return "0";
  const double size = std::fabs(value);
  if (size < 1e-3) return fmt::format("{:.1e}", value);
  if (size >= 1000) return charts::with_thousands(value);
  const int decimals = std::clamp(2 - static_cast<int>(std::floor(std::log10(size))), 0, 5);
  return fmt::format("{:.{}f}", value, decimals);
}

void check_folder_of(const std::string& option, const fs::path& file) {
  std::error_code error;
  if (!fs::exists(file, error) && error == std::errc::filename_too_long)
    throw core::BadInput(
        fmt::format("{}: {} is too long a name; choose a shorter one", option, file.string()));
  const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  if (!fs::is_directory(folder, error)) {
    throw core::BadInput(fmt::format("{}: there is no folder {}; make it first", option, folder.string()));
  }
  if (::access(folder.c_str(), W_OK) != 0) {
    throw core::BadInput(
        fmt::format("{}: the folder {} cannot be written to; choose another", option, folder.string()));
  }
}

void check_output_file(const std::string& option, const std::string& file) {
  if (file.empty() || file == "-") return;
  std::error_code error;
  if (fs::is_directory(file, error)) {
    throw core::BadInput(fmt::format("{}: {} is a folder; name a file", option, file));
  }
  check_folder_of(option, file);
}

void write_output(const std::string& file, const std::string& text) {
  if (file == "-") {
    files::put_file(text);
  } else if (!file.empty()) {
    files::answer_is_in_files();
    files::write_file_atomically(file, text);
  }
}

}  // namespace warpscope::app
