#include "ui/settings/settings.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/files/atomic_file.h"
#include "gpu/files/format.h"
#include "gpu/files/paths.h"
#include "gpu/files/read_json.h"

namespace warpscope::ui {
namespace {

using nlohmann::json;

// Each key stands once, in a visitor that is used for reading and for writing.
struct Reader {
  const json& from;

  void operator()(const char* key, bool& value) const {
    if (const auto found = from.find(key); found != from.end() && found->is_boolean())
      value = found->get<bool>();
  }
  void operator()(const char* key, int& value, int low, int high) const {
    const auto found = from.find(key);
    if (found == from.end() || !found->is_number_integer()) return;
    const auto read = found->get<std::int64_t>();
    if (read >= low && read <= high) value = static_cast<int>(read);
  }
  void operator()(const char* key, float& value, float low, float high) const {
    const auto found = from.find(key);
    if (found == from.end() || !found->is_number()) return;
    const auto read = found->get<float>();
    if (read >= low && read <= high) value = read;
  }
  void operator()(const char* key, Theme& value) const {
    const auto found = from.find(key);
    if (found != from.end() && found->is_string())
      value = theme_called(found->get<std::string>()).value_or(value);
  }
  // By their keys; those that there are not are left out.
  void operator()(const char* key, std::vector<Metric>& values) const {
    const auto found = from.find(key);
    if (found == from.end() || !found->is_array()) return;
    std::vector<Metric> read;
    for (const json& one : *found) {
      for (const MetricFacts& facts : training::metrics()) {
        if (one == facts.key) read.push_back(facts.metric);
      }
    }
    if (!read.empty() && read.size() <= kMostPlots) values = std::move(read);
  }
};

struct Writer {
  json& to;

  void operator()(const char* key, bool value) const { to[key] = value; }
  void operator()(const char* key, int value, int, int) const { to[key] = value; }
  void operator()(const char* key, float value, float, float) const { to[key] = value; }
  void operator()(const char* key, Theme value) const { to[key] = facts_of(value).id; }
  void operator()(const char* key, const std::vector<Metric>& values) const {
    for (const Metric value : values) to[key].push_back(facts_of(value).key);
  }
};

template <class Visitor, class Placement>
void visit_window(const Visitor& visit, Placement& window) {
  constexpr int kMostPixels = 65536;
  visit("width", window.width, 320, kMostPixels);
  visit("height", window.height, 240, kMostPixels);
  visit("x", window.x, -kMostPixels, kMostPixels);
  visit("y", window.y, -kMostPixels, kMostPixels);
  visit("has_position", window.has_position);
  visit("maximized", window.maximized);
}

template <class Visitor, class P>
void visit_plot(const Visitor& visit, P& plot) {
  visit("metrics", plot.metrics);
  visit("over", plot.over, 0, 2);
  visit("logarithmic_x", plot.logarithmic_x);
  visit("smoothing_steps", plot.smoothing_steps, 1.0f, 1000.0f);
  visit("show_train", plot.show_train);
  visit("show_test", plot.show_test);
  visit("show_validation", plot.show_validation);
  visit("show_before", plot.show_before);
  for (std::size_t i = 0; i < kMetrics; ++i) {
    const std::string key = std::string("logarithmic_") + facts_of(static_cast<Metric>(i)).key;
    visit(key.c_str(), plot.logarithmic[i]);
  }
}

template <class Visitor, class I>
void visit_images(const Visitor& visit, I& images) {
  visit("zoom", images.zoom, 0, 64);
  visit("absolute_difference", images.absolute_difference);
  visit("difference_range", images.difference_range, 1e-3f, 1.0f);
  visit("automatic_range", images.automatic_range);
  visit("automatic_comparison_range", images.automatic_comparison_range);
  visit("metric", images.metric, 0, 2);
  visit("order", images.order, 0, 3);
  visit("show_curve", images.show_curve);
}

template <class Visitor, class L>
void visit_look(const Visitor& visit, L& look) {
  visit("theme", look.theme);
  visit("zoom", look.zoom, Look::kLeastZoom, Look::kMostZoom);
  visit("text_size", look.text_size, Look::kLeastText, Look::kMostText);
}

json object_in(const json& from, const char* key) {
  const auto found = from.find(key);
  return found != from.end() && found->is_object() ? *found : json::object();
}

// A built-in layout is kept by its name, so that it is today's.
json docking_json(const Docking& docking) {
  const std::string name = name_of_layout(docking, {});
  return name.empty() ? layout_json(docking) : json(name);
}

Docking docking_from(const json& from) {
  if (!from.is_string()) return layout_from(from);
  const auto name = from.get<std::string>();
  const Docking* const built_in = find_layout(name, {});
  if (built_in == nullptr) throw core::BadInput(fmt::format("there is no layout \"{}\"", name));
  return *built_in;
}

void read_layouts(const json& read, Settings& settings) {
  const auto attempt = [&settings](const auto& reading) {
    try {
      reading();
    } catch (const core::BadInput& error) {
      settings.problem = fmt::format("window.json: {}; it is left out", error.what());
    }
  };
  if (const auto found = read.find("layout"); found != read.end()) {
    attempt([&] { settings.docking = docking_from(*found); });
  }
  const json layouts = object_in(read, "layouts");
  for (const auto& entry : layouts.items()) {
    attempt([&] {
      if (const std::string refusal = layout_name_refusal(entry.key()); !refusal.empty())
        throw core::BadInput(refusal.substr(0, refusal.size() - 1));
      settings.layouts.push_back({entry.key(), layout_from(entry.value())});
    });
  }
}

}  // namespace

Look limited(Look look) {
  look.zoom = std::clamp(look.zoom, Look::kLeastZoom, Look::kMostZoom);
  look.text_size = std::clamp(look.text_size, Look::kLeastText, Look::kMostText);
  return look;
}

std::filesystem::path settings_file() {
  try {
    return files::config_dir() / "window.json";
  } catch (const core::Error&) {
    return {};
  }
}

Settings load_settings(const std::filesystem::path& file) {
  Settings settings;
  settings.docking = *find_layout(built_in_layouts().front().id, {});
  if (file.empty()) return settings;
  std::ifstream stream(file);
  settings.first_start = !stream.is_open();
  const json read = files::read_json(std::string(std::istreambuf_iterator<char>(stream), {}));
  if (!read.is_object()) return settings;
  // The first ones have no number; their form is that of 1.
  const std::string why =
      read.contains(files::kFormat) ? files::refusal_of_format(read, files::kWindowFormat) : "";
  if (!why.empty()) {
    settings.problem = fmt::format(
        "{} {}, or delete or rename the file to begin anew; this window begins without it and remembers "
        "nothing",
        file.string(), why);
    settings.remembered = false;
    return settings;
  }
  const json window = object_in(read, "window"), plot = object_in(read, "plot");
  const json images = object_in(read, "images");
  visit_window(Reader{window}, settings.window);
  read_layouts(read, settings);
  visit_plot(Reader{plot}, settings.plot);
  visit_look(Reader{read}, settings.look);
  visit_images(Reader{images}, settings.images);
  settings.images.rows = rows_from(object_in(images, "rows"));
  return settings;
}

void save_settings(const std::filesystem::path& file, const Settings& settings) {
  if (file.empty() || !settings.remembered) return;
  json written = {{files::kFormat, files::kWindowFormat.number}};
  visit_window(Writer{written["window"]}, settings.window);
  written["layout"] = docking_json(settings.docking);
  written["layouts"] = json::object();
  for (const SavedLayout& layout : settings.layouts)
    written["layouts"][layout.name] = layout_json(layout.docking);
  visit_plot(Writer{written["plot"]}, settings.plot);
  visit_look(Writer{written}, settings.look);
  visit_images(Writer{written["images"]}, settings.images);
  written["images"]["rows"] = rows_json(settings.images.rows);
  std::error_code failure;
  std::filesystem::create_directories(file.parent_path(), failure);
  if (failure) {
    throw core::Error(
        fmt::format("cannot make the folder {}: {}", file.parent_path().string(), failure.message()));
  }
  // Paths may hold bytes that are no UTF-8.
  files::write_file_atomically(file, written.dump(2, ' ', false, json::error_handler_t::replace) + "\n");
}

}  // namespace warpscope::ui
