#include "ui/frame/trace.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include <fmt/format.h>

namespace warpscope::ui {
namespace {

struct Rectangle {
  int x = 0, y = 0, w = 0, h = 0;
  bool operator==(const Rectangle&) const = default;
};

// One trace for the process: only the GUI thread uses it.
struct Trace {
  std::ofstream file;
  std::map<std::string, Rectangle, std::less<>> items;
  std::string open_list;
};

Trace* trace() {
  static const std::unique_ptr<Trace> instance = [] {
    const char* path = std::getenv("WARPSCOPE_UI_TRACE");
    auto made = std::make_unique<Trace>();
    if (path == nullptr || *path == '\0') return std::unique_ptr<Trace>();
    made->file.open(path, std::ios::app);
    return made->file ? std::move(made) : nullptr;
  }();
  return instance.get();
}

}  // namespace

bool trace_enabled() {
  return trace() != nullptr;
}

std::string json_string(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void trace_event(std::string_view event, const std::string& fields) {
  Trace* const out = trace();
  if (out == nullptr) return;
  const std::chrono::duration<double> time = std::chrono::steady_clock::now().time_since_epoch();
  out->file << fmt::format("{{\"event\":{},\"time\":{:.4f}{}{}}}", json_string(event), time.count(),
                           fields.empty() ? "" : ",", fields)
            << '\n'
            << std::flush;
}

void trace_open_list(std::string_view name) {
  if (Trace* const out = trace()) out->open_list = name;
}

std::string traced_open_list() {
  Trace* const out = trace();
  return out == nullptr ? std::string() : std::exchange(out->open_list, {});
}

void trace_rectangle(std::string_view name, ImVec2 min, ImVec2 max) {
  Trace* const out = trace();
  if (out == nullptr) return;
  const ImVec2 clip_min = ImGui::GetWindowDrawList()->GetClipRectMin();
  const ImVec2 clip_max = ImGui::GetWindowDrawList()->GetClipRectMax();
  const int left = static_cast<int>(std::max(min.x, clip_min.x));
  const int top = static_cast<int>(std::max(min.y, clip_min.y));
  const Rectangle now{left, top, static_cast<int>(std::min(max.x, clip_max.x)) - left,
                      static_cast<int>(std::min(max.y, clip_max.y)) - top};
  if (now.w <= 0 || now.h <= 0) return;
  const auto found = out->items.find(name);
  if (found != out->items.end() && found->second == now) return;
  out->items.insert_or_assign(std::string(name), now);
  trace_event("layout", fmt::format("\"name\":{},\"x\":{},\"y\":{},\"w\":{},\"h\":{}", json_string(name),
                                    now.x, now.y, now.w, now.h));
}

void trace_change(std::string& last, std::string_view event, const std::string& fields) {
  if (fields == last) return;
  last = fields;
  trace_event(event, fields);
}

void trace_item(std::string_view name) {
  if (!trace_enabled() || !ImGui::IsItemVisible()) return;
  trace_rectangle(name, ImGui::GetItemRectMin(), ImGui::GetItemRectMax());
}

}  // namespace warpscope::ui
