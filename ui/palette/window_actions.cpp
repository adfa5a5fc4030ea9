#include "ui/palette/window_actions.h"

#include <array>
#include <utility>

#include <fmt/format.h>

namespace warpscope::ui {
namespace {

constexpr const char* kNow = "now";

void add_panels(const ActionScene& scene, std::vector<Action>& actions) {
  for (std::size_t i = 0; i < scene.tabs.size(); ++i) {
    const int tab = static_cast<int>(i);
    actions.push_back({.id = fmt::format("tab.{}", scene.tabs[i]),
                       .title = fmt::format("Show {}", scene.tabs[i]),
                       .group = "Panels",
                       .keys = {},
                       .note = tab == scene.tab ? kNow : "",
                       .why_not = {},
                       .fill = {},
                       .run = [show = scene.show_tab, tab] { show(tab); }});
  }
}

void add_themes(const ActionScene& scene, std::vector<Action>& actions) {
  for (std::size_t i = 0; i < themes().size(); ++i) {
    const ThemeRow& row = themes()[i];
    Look changed = scene.look;
    changed.theme = static_cast<Theme>(i);
    actions.push_back({.id = fmt::format("theme.{}", row.id),
                       .title = fmt::format("Theme: {}", row.title),
                       .group = "Theme",
                       .keys = {},
                       .note = changed == scene.look ? kNow : "",
                       .why_not = {},
                       .fill = {},
                       .run = [set = scene.set_look, changed] { set(changed); }});
  }
}

struct SizeAction {
  const char* id;
  const char* title;
  const char* keys;
  void (*change)(Look&);
};

constexpr std::array kSizes{
    SizeAction{"zoom.in", "Zoom: larger", "Ctrl +", [](Look& look) { look.zoom *= Look::kZoomStep; }},
    SizeAction{"zoom.out", "Zoom: smaller", "Ctrl -", [](Look& look) { look.zoom /= Look::kZoomStep; }},
    SizeAction{"zoom.normal", "Zoom: normal size", "Ctrl 0", [](Look& look) { look.zoom = Look().zoom; }},
    SizeAction{"text.larger", "Text: larger", "", [](Look& look) { ++look.text_size; }},
    SizeAction{"text.smaller", "Text: smaller", "", [](Look& look) { --look.text_size; }},
    SizeAction{"text.normal", "Text: normal size", "", [](Look& look) { look.text_size = Look().text_size; }},
};

std::string size_text(const SizeAction& row, const Look& look) {
  return std::string_view(row.id).starts_with("zoom") ? fmt::format("now {:.0f} %", 100 * look.zoom)
                                                      : fmt::format("now {} pixels", look.text_size);
}

void add_sizes(const ActionScene& scene, std::vector<Action>& actions) {
  for (const SizeAction& row : kSizes) {
    Look changed = scene.look;
    row.change(changed);
    actions.push_back({.id = row.id,
                       .title = row.title,
                       .group = "Size",
                       .keys = row.keys,
                       .note = size_text(row, scene.look),
                       .why_not = limited(changed) == scene.look ? "It is so already." : "",
                       .fill = {},
                       .run = [set = scene.set_look, after = limited(changed)] { set(after); }});
  }
}

}  // namespace

std::vector<Action> window_actions(const ActionScene& scene) {
  std::vector<Action> actions;
  add_panels(scene, actions);
  add_themes(scene, actions);
  add_sizes(scene, actions);
  return actions;
}

}  // namespace warpscope::ui
