#include "ui/palette/window_actions.h"

#include <array>
#include <set>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "gpu/runs/figure_table.h"
#include "ui/text/terms.h"

namespace warpscope::ui {
namespace {

constexpr const char* kNow = "now";
constexpr std::string_view kSaveLayout = "save layout ";

void add_layouts(const ActionScene& scene, std::vector<Action>& actions) {
  for (const LayoutChoice& layout : scene.layouts) {
    actions.push_back({.id = "layout." + layout.name,
                       .title = "Layout: " + layout.name,
                       .group = "Layout",
                       .note = layout.now ? kNow : "",
                       .run = [use = scene.use_layout, name = layout.name] { use(name); }});
  }
}

void add_panels(const ActionScene& scene, std::vector<Action>& actions) {
  for (const PanelChoice& panel : scene.panels) {
    actions.push_back({.id = "panel." + panel.id,
                       .title = "Show " + panel.title,
                       .group = "Panels",
                       .note = panel.seen   ? kNow
                               : panel.open ? ""
                                            : "closed",
                       .run = [show = scene.show_panel, id = panel.id] { show(id); }});
  }
  actions.push_back({.id = "panel.images.confusion",
                     .title = "Show Confusion",
                     .group = "Panels",
                     .why_not = scene.snapshot.classifies ? "" : "The network tells no classes apart.",
                     .run = scene.show_confusion});
}

void add_themes(const ActionScene& scene, std::vector<Action>& actions) {
  for (std::size_t i = 0; i < themes().size(); ++i) {
    const ThemeRow& row = themes()[i];
    Look changed = scene.look;
    changed.theme = static_cast<Theme>(i);
    actions.push_back({.id = fmt::format("theme.{}", row.id),
                       .title = fmt::format("Theme: {}", row.title),
                       .group = "Theme",
                       .note = changed == scene.look ? kNow : "",
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
                       .run = [set = scene.set_look, after = limited(changed)] { set(after); }});
  }
}

}  // namespace

std::vector<Action> window_actions(const ActionScene& scene) {
  std::vector<Action> actions;
  actions.push_back({.id = "new",
                     .title = "Start a training: data, goal ...",
                     .group = "Training",
                     .keys = "Ctrl N",
                     .run = [press = scene.press] {
                       if (press) press({.letter = 'n', .control = true});
                     }});
  add_layouts(scene, actions);
  add_themes(scene, actions);
  add_sizes(scene, actions);
  add_panels(scene, actions);
  actions.push_back({.id = "tour", .title = "Take the tour", .group = "Help", .run = scene.take_tour});
  return actions;
}

std::vector<Action> arranging_actions(const ActionScene& scene) {
  std::vector<Action> actions;
  const auto add = [&](std::string id, std::string title, std::string fill, std::function<void()> run) {
    actions.push_back({.id = std::move(id),
                       .title = std::move(title),
                       .group = "Layout",
                       .fill = std::move(fill),
                       .run = std::move(run)});
  };
  for (const PanelChoice& panel : scene.panels) {
    if (!panel.open) continue;
    add("close." + panel.id, "Close " + panel.title, "",
        [act = scene.close_panel, id = panel.id] { act(id); });
    add("float." + panel.id, (panel.floats ? "Dock " : "Float ") + panel.title, "",
        [act = scene.float_panel, id = panel.id] { act(id); });
  }
  add("layout.save", "Save the layout by a name ...", std::string(kSaveLayout), nullptr);
  for (const LayoutChoice& layout : scene.layouts) {
    if (layout.built_in) continue;
    add("layout.delete." + layout.name, "Delete the layout " + layout.name, "",
        [act = scene.delete_layout, name = layout.name] { act(name); });
  }
  return actions;
}

Action explanation(std::string name, std::string sentence, const ActionScene& scene) {
  std::string told = fmt::format("{}: {}", name, sentence);
  return {.id = fmt::format("term.{}", name),
          .title = fmt::format("What is: {}", name),
          .group = "Terms",
          .run = [tell = scene.tell, told = std::move(told)] { tell(told); }};
}

std::vector<Action> term_actions(const ActionScene& scene) {
  std::vector<Action> actions;
  std::set<std::string_view> told;
  for (const std::span<const training::Figure> figures :
       {training::run_figures(), training::series_figures(), training::window_figures()}) {
    for (const training::Figure& figure : figures) {
      if (told.insert(figure.name).second)
        actions.push_back(explanation(figure.name, explain(figure.name), scene));
    }
  }
  for (const Term& term : terms()) actions.push_back(explanation(term.name, term.sentence, scene));
  return actions;
}

std::vector<Action> typed_layout(std::string_view query, const ActionScene& scene) {
  if (!query.starts_with(kSaveLayout)) return {};
  std::string name(query.substr(kSaveLayout.size()));
  while (name.ends_with(' ')) name.pop_back();
  if (name.empty()) return {};
  return {{.id = "layout.save." + name,
           .title = "Save the layout as " + name,
           .group = "Layout",
           .why_not = layout_name_refusal(name),
           .run = [save = scene.save_layout, name] { save(name); }}};
}

}  // namespace warpscope::ui
