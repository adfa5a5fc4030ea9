#include "ui/docking/layouts.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>
#include <set>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "ui/panels/panel_table.h"

namespace warpscope::ui {
namespace {

using nlohmann::json;

constexpr int kDeepest = 32;  ///< cuts inside one another that are read from a file

// All panels of the workbench; those of `first` before the others.
std::vector<std::string> workbench(std::initializer_list<const char*> first) {
  std::vector<std::string> panels(first.begin(), first.end());
  for (const PanelRow& row : panel_table()) {
    const bool listed = std::find(panels.begin(), panels.end(), row.id) != panels.end();
    if (row.place == Place::workbench && !listed) panels.emplace_back(row.id);
  }
  return panels;
}

DockNode leaf_with(const char* panel) {
  return dock_leaf({panel});
}

Docking train_layout() {
  DockNode upper = dock_cut(Cut::columns, 0.5f, leaf_with("curves"), leaf_with("images"));
  DockNode lower = dock_cut(Cut::columns, 0.68f, dock_leaf(workbench({})), leaf_with("training"));
  return {dock_cut(Cut::rows, 0.56f, std::move(upper), std::move(lower)), {}};
}

Docking kernels_layout() {
  DockNode left = dock_cut(Cut::rows, 0.7f, dock_leaf(workbench({})), leaf_with("curves"));
  DockNode right = dock_cut(Cut::rows, 0.5f, leaf_with("images"), leaf_with("training"));
  return {dock_cut(Cut::columns, 0.66f, std::move(left), std::move(right)), {}};
}

Docking inspect_layout() {
  DockNode left = dock_cut(Cut::rows, 0.62f, leaf_with("images"), leaf_with("curves"));
  DockNode right = dock_cut(Cut::rows, 0.68f, dock_leaf(workbench({"network"})), leaf_with("training"));
  return {dock_cut(Cut::columns, 0.45f, std::move(left), std::move(right)), {}};
}

// Nothing to set: what is shown to others.
Docking present_layout() {
  DockNode left = dock_cut(Cut::rows, 0.58f, leaf_with("curves"), dock_leaf(workbench({"ladder"})));
  return {dock_cut(Cut::columns, 0.55f, std::move(left), leaf_with("images")), {}};
}

constexpr std::array kLayouts{
    LayoutRow{"train", train_layout},
    LayoutRow{"kernels", kernels_layout},
    LayoutRow{"inspect", inspect_layout},
    LayoutRow{"present", present_layout},
};

const std::vector<Docking>& made_layouts() {
  static const std::vector<Docking> made = [] {
    std::vector<Docking> list;
    for (const LayoutRow& row : kLayouts) list.push_back(row.make());
    return list;
  }();
  return made;
}

bool same_shape(const DockNode& a, const DockNode& b) {
  if (a.is_leaf() || b.is_leaf()) return a == b;
  return a.cut == b.cut && same_shape(a.parts[0], b.parts[0]) && same_shape(a.parts[1], b.parts[1]);
}

const char* name_of(Cut cut) {
  return cut == Cut::columns ? "columns" : "rows";
}

json node_json(const DockNode& node) {
  if (node.is_leaf()) return {{"panels", node.panels}, {"active", node.active}};
  return {{"cut", name_of(node.cut)},
          {"part", node.part},
          {"parts", json::array({node_json(node.parts[0]), node_json(node.parts[1])})}};
}

[[noreturn]] void refuse(const std::string& why) {
  throw core::BadInput("the layout of the panels " + why);
}

// Reads one layout and remembers which panels it has had.
class LayoutReader {
 public:
  DockNode node(const json& from, int depth) {
    if (!from.is_object()) refuse("has a part that is no object");
    if (depth > kDeepest) refuse(fmt::format("is cut more than {} times over", kDeepest));
    return from.contains("panels") ? leaf(from) : cut(from, depth);
  }

  FloatingPanel floating(const json& from) {
    if (!from.is_object() || !from.contains("panel")) refuse("has a floating part without a panel");
    return {panel(from["panel"]),
            {number(from, "x", 0), number(from, "y", 0), number(from, "w", 0.01f), number(from, "h", 0.01f)}};
  }

 private:
  std::string panel(const json& from) {
    if (!from.is_string()) refuse("names a panel by something that is no text");
    std::string id = from.get<std::string>();
    if (find_panel(id) == nullptr) refuse(fmt::format("names the panel \"{}\", which there is none of", id));
    if (!seen_.insert(id).second) refuse(fmt::format("has the panel \"{}\" twice", id));
    return id;
  }

  static float number(const json& from, const char* key, float least) {
    const auto found = from.find(key);
    const float value = found != from.end() && found->is_number() ? found->get<float>() : -1;
    if (!(value >= least && value <= 1))
      refuse(fmt::format("lacks a number \"{}\" from {:g} to 1", key, least));
    return value;
  }

  DockNode leaf(const json& from) {
    const json& panels = from["panels"];
    if (!panels.is_array()) refuse("has panels that are no list");
    DockNode leaf;
    for (const json& entry : panels) leaf.panels.push_back(panel(entry));
    const auto active = from.find("active");
    if (active != from.end() && active->is_number_unsigned())
      leaf.active = std::min(active->get<std::size_t>(), leaf.panels.empty() ? 0 : leaf.panels.size() - 1);
    return leaf;
  }

  DockNode cut(const json& from, int depth) {
    const auto kind = from.find("cut"), parts = from.find("parts");
    const bool rows = kind != from.end() && *kind == name_of(Cut::rows);
    if (!rows && (kind == from.end() || *kind != name_of(Cut::columns)))
      refuse("has a part with neither panels nor a cut into columns or rows");
    if (parts == from.end() || !parts->is_array() || parts->size() != 2)
      refuse("has a cut without two parts");
    const float part = number(from, "part", 0);
    DockNode first = node((*parts)[0], depth + 1), second = node((*parts)[1], depth + 1);
    for (const DockNode* const half : {&first, &second}) {
      if (half->is_leaf() && half->panels.empty()) refuse("has a part without panels");
    }
    return dock_cut(rows ? Cut::rows : Cut::columns, part, std::move(first), std::move(second));
  }

  std::set<std::string> seen_;
};

}  // namespace

std::span<const LayoutRow> built_in_layouts() {
  return kLayouts;
}

std::string layout_name_refusal(std::string_view name) {
  constexpr std::size_t kLongest = 40;
  if (name.empty() || name.size() > kLongest)
    return fmt::format("The name of a layout has 1 to {} characters.", kLongest);
  const bool control = std::any_of(name.begin(), name.end(), [](char letter) {
    return std::iscntrl(static_cast<unsigned char>(letter)) != 0;
  });
  if (control) return "The name of a layout has no control characters.";
  for (const LayoutRow& row : kLayouts) {
    if (name == row.id) return fmt::format("\"{}\" is built in; give the layout another name.", row.id);
  }
  return {};
}

const Docking* find_layout(std::string_view name, std::span<const SavedLayout> saved) {
  for (std::size_t i = 0; i < kLayouts.size(); ++i) {
    if (name == kLayouts[i].id) return &made_layouts()[i];
  }
  const auto found = std::find_if(saved.begin(), saved.end(),
                                  [name](const SavedLayout& layout) { return layout.name == name; });
  return found == saved.end() ? nullptr : &found->docking;
}

std::string name_of_layout(const Docking& docking, std::span<const SavedLayout> saved) {
  for (const SavedLayout& layout : saved) {
    if (layout.docking == docking) return layout.name;
  }
  for (std::size_t i = 0; i < kLayouts.size(); ++i) {
    if (made_layouts()[i] == docking) return kLayouts[i].id;
  }
  return {};
}

float usual_part(const Docking& docking, std::string_view path) {
  for (const Docking& layout : made_layouts()) {
    if (!same_shape(layout.root, docking.root)) continue;
    DockNode root = layout.root;
    const DockNode* const cut = cut_at(root, path);
    if (cut != nullptr) return cut->part;
  }
  return 0.5f;
}

json layout_json(const Docking& docking) {
  json written = {{"docked", node_json(docking.root)}, {"floating", json::array()}};
  for (const FloatingPanel& floating : docking.floating) {
    const Area& place = floating.place;
    written["floating"].push_back(
        {{"panel", floating.panel}, {"x", place.x}, {"y", place.y}, {"w", place.w}, {"h", place.h}});
  }
  return written;
}

Docking layout_from(const json& from) {
  if (!from.is_object() || !from.contains("docked")) refuse("is no object with the panels that are docked");
  LayoutReader reader;
  Docking docking;
  docking.root = reader.node(from["docked"], 0);
  const auto floating = from.find("floating");
  if (floating == from.end()) return docking;
  if (!floating->is_array()) refuse("has floating panels that are no list");
  for (const json& panel : *floating) docking.floating.push_back(reader.floating(panel));
  return docking;
}

}  // namespace warpscope::ui
