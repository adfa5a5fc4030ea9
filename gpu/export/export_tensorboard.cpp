#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/export/export.h"
#include "gpu/export/tf_record.h"
#include "gpu/files/atomic_file.h"
#include "gpu/files/byte_numbers.h"
#include "gpu/files/file.h"
#include "gpu/files/utf8.h"
#include "gpu/runs/curves.h"
#include "gpu/runs/settings.h"
#include "gpu/runs/summary.h"

namespace warpscope::runs {
namespace {

namespace fs = std::filesystem;

// Field numbers, under the names that they have in the .proto files.
namespace event {
constexpr int kWallTime = 1;
constexpr int kStep = 2;
constexpr int kFileVersion = 3;
constexpr int kSummary = 5;
}  // namespace event
namespace summary {
constexpr int kValue = 1;
}
namespace value {
constexpr int kTag = 1;
constexpr int kSimpleValue = 2;
constexpr int kImage = 4;
constexpr int kTensor = 8;
constexpr int kMetadata = 9;
}  // namespace value
namespace metadata {
constexpr int kPluginData = 1;
constexpr int kDataClass = 4;
constexpr std::uint64_t kTensorClass = 2;
constexpr int kPluginName = 1;
}  // namespace metadata
namespace tensor {
constexpr int kType = 1;
constexpr int kShape = 2;
constexpr int kStrings = 8;
constexpr std::uint64_t kStringType = 7;
constexpr int kDimension = 2;
constexpr int kSize = 1;
}  // namespace tensor
namespace image {
constexpr int kHeight = 1;
constexpr int kWidth = 2;
constexpr int kColorSpace = 3;
constexpr int kEncoded = 4;
}  // namespace image

struct Event {
  std::uint64_t step = 0;
  double wall_time = 0;
  std::string summary;  ///< a Summary message
};

std::string record_of(const Event& one) {
  ProtoMessage message;
  message.add_double(event::kWallTime, one.wall_time);
  message.add_varint(event::kStep, one.step).add_bytes(event::kSummary, one.summary);
  return tf_record(message.bytes());
}

/// A summary with one value.
std::string summary_of(const ProtoMessage& one) {
  return ProtoMessage().add_bytes(summary::kValue, one.bytes()).bytes();
}

std::string text_summary(std::string_view tag, std::string_view text) {
  const ProtoMessage plugin = ProtoMessage().add_bytes(metadata::kPluginName, "text");
  const ProtoMessage about = ProtoMessage()
                                 .add_bytes(metadata::kPluginData, plugin.bytes())
                                 .add_varint(metadata::kDataClass, metadata::kTensorClass);
  const ProtoMessage size = ProtoMessage().add_varint(tensor::kSize, 1);
  const ProtoMessage shape = ProtoMessage().add_bytes(tensor::kDimension, size.bytes());
  const ProtoMessage content = ProtoMessage()
                                   .add_varint(tensor::kType, tensor::kStringType)
                                   .add_bytes(tensor::kShape, shape.bytes())
                                   .add_bytes(tensor::kStrings, text);
  return summary_of(ProtoMessage()
                        .add_bytes(value::kTag, tag)
                        .add_bytes(value::kTensor, content.bytes())
                        .add_bytes(value::kMetadata, about.bytes()));
}

/// Seconds since 1970 of a moment of the training.
double wall_time(double start, double seconds) {
  return (std::isfinite(start) ? start : 0) + (std::isfinite(seconds) ? seconds : 0);
}

void add_scalars(const PointTable& table, double start, std::vector<Event>& events) {
  for (std::size_t i = 0; i < table.size(); ++i) {
    ProtoMessage values;
    for (const Series& series : table.series) {
      if (!std::isfinite(series.values[i])) continue;
      const ProtoMessage one = ProtoMessage()
                                   .add_bytes(value::kTag, tensorboard_tag(series.name))
                                   .add_float(value::kSimpleValue, static_cast<float>(series.values[i]));
      values.add_bytes(summary::kValue, one.bytes());
    }
    if (!values.bytes().empty())
      events.push_back({table.step[i], wall_time(start, table.seconds[i]), values.bytes()});
  }
}

/// Text in a cell of a Markdown table.
std::string markdown_cell(const std::string& text) {
  std::string cell;
  for (const char c : text) {
    if (c == '|' || c == '\\' || c == '_' || c == '*' || c == '`' || c == '<') cell += '\\';
    cell += c;
  }
  return cell;
}

std::string configuration_table(const Run& run) {
  std::string text = "| setting | value |\n|---|---|\n";
  for (const Setting& setting : settings_of(run.head)) {
    text += fmt::format("| {} | {} |\n", markdown_cell(setting.key), markdown_cell(shown_value(setting)));
  }
  return text;
}

struct ImageFile {
  std::uint64_t step = 0;
  std::string tag;
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::uint32_t channels = 0;
  std::string content;
};

/// Takes size and channels from the header chunk, which is first (PNG 1.2, section 11.2.2). False if it is no
/// PNG.
bool read_png_header(ImageFile& file) {
  constexpr std::string_view kStart{"\x89PNG\r\n\x1a\n\0\0\0\x0DIHDR", 16};
  constexpr std::size_t kHeaderBytes = 26;
  if (file.content.size() < kHeaderBytes || !file.content.starts_with(kStart)) return false;
  file.width = files::number_at(file.content, 16, 4, true);
  file.height = files::number_at(file.content, 20, 4, true);
  const char kind = file.content[25];
  file.channels = kind == 0 ? 1 : kind == 4 ? 2 : kind == 6 ? 4 : 3;
  return true;
}

/// The step and the tag that a file's name (without ".png") tells.
void name_image(const std::string& stem, ImageFile& file) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto last = std::find_if(stem.rbegin(), stem.rend(), is_digit).base();
  auto first = last;
  // More digits than a step can have are not a step.
  while (first != stem.begin() && is_digit(*(first - 1)) && last - first < 18) --first;
  for (auto digit = first; digit != last; ++digit) {
    file.step = file.step * 10 + static_cast<std::uint64_t>(*digit - '0');
  }
  std::string name(stem.begin(), first == last ? stem.end() : first);
  while (!name.empty() && (name.back() == '-' || name.back() == '_' || name.back() == ' ')) name.pop_back();
  file.tag = "images/" + (name.empty() ? "image" : files::escaped(name));
}

std::vector<ImageFile> images_of(const Run& run) {
  std::vector<fs::path> paths;
  std::error_code error;
  for (const fs::path& path : files::entries_of(run.folder / "images", error)) {
    if (path.extension() == ".png") paths.push_back(path);
  }
  std::vector<ImageFile> images;
  for (const fs::path& path : paths) {
    ImageFile file;
    std::ifstream stream(path, std::ios::binary);
    file.content.assign(std::istreambuf_iterator<char>(stream), {});
    if (!read_png_header(file)) continue;
    name_image(path.stem().string(), file);
    images.push_back(std::move(file));
  }
  return images;
}

std::string image_summary(const ImageFile& file) {
  const ProtoMessage content = ProtoMessage()
                                   .add_varint(image::kHeight, file.height)
                                   .add_varint(image::kWidth, file.width)
                                   .add_varint(image::kColorSpace, file.channels)
                                   .add_bytes(image::kEncoded, file.content);
  return summary_of(
      ProtoMessage().add_bytes(value::kTag, file.tag).add_bytes(value::kImage, content.bytes()));
}

fs::path event_file_name(const Run& run) {
  const double start = wall_time(start_of(run), 0);
  return fmt::format("events.out.tfevents.{:010.0f}.warpscope", std::max(0.0, start));
}

/// Makes `folder` and checks that TensorBoard would find nothing in it but `file`.
void prepare_folder(const fs::path& folder, const fs::path& file) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error || !fs::is_directory(folder, error)) {
    throw core::BadInput(fmt::format("cannot make the folder {}: {}; choose another",
                                     files::escaped(folder.string()),
                                     error ? error.message() : "a file has its name"));
  }
  for (const fs::path& entry : files::entries_of(folder, error)) {
    const fs::path name = entry.filename();
    if (name == file || name.string().find("tfevents") == std::string::npos || name.string().starts_with('.'))
      continue;
    throw core::BadInput(fmt::format("{} holds the events of another run ({}); choose another folder",
                                     files::escaped(folder.string()), files::escaped(name.string())));
  }
}

}  // namespace

std::string tensorboard_tag(const std::string& series) {
  for (const char* split : {"train", "validation", "test"}) {
    const std::string prefix = std::string(split) + "_";
    if (series.starts_with(prefix)) return fmt::format("{}/{}", split, series.substr(prefix.size()));
  }
  return series;
}

std::string tensorboard_events(const Run& run) {
  const double start = start_of(run);
  std::vector<Event> events;
  events.push_back({0, wall_time(start, 0), text_summary("configuration", configuration_table(run))});
  add_scalars(run.points.steps, start, events);
  add_scalars(run.points.tests, start, events);
  for (const RunMarker& marker : run.points.markers) {
    events.push_back({marker.step, wall_time(start, marker.seconds), text_summary("markers", marker.text)});
  }
  for (const ImageFile& file : images_of(run)) {
    const double seconds = place_of(run.points, file.step, Over::seconds);
    events.push_back({file.step, wall_time(start, seconds), image_summary(file)});
  }
  std::ranges::stable_sort(events, [](const Event& a, const Event& b) { return a.step < b.step; });
  const ProtoMessage version = ProtoMessage()
                                   .add_double(event::kWallTime, wall_time(start, 0))
                                   .add_bytes(event::kFileVersion, "brain.Event:2");
  std::string file = tf_record(version.bytes());
  for (const Event& one : events) file += record_of(one);
  return file;
}

void export_tensorboard(const std::vector<Run>& runs, const fs::path& folder) {
  std::set<std::string> names;
  for (const Run& run : runs) {
    if (names.insert(run_name(run.folder)).second) continue;
    throw core::BadInput(
        fmt::format("two of the runs are named {}; export them one by one", run_name(run.folder)));
  }
  const auto folder_of = [&](const Run& run) {
    return runs.size() == 1 ? folder : folder / run_name(run.folder);
  };
  for (const Run& run : runs) prepare_folder(folder_of(run), event_file_name(run));
  for (const Run& run : runs) {
    files::write_file_atomically(folder_of(run) / event_file_name(run), tensorboard_events(run));
  }
}

}  // namespace warpscope::runs
