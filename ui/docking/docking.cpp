#include "ui/docking/docking.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace warpscope::ui {
namespace {

constexpr float kLeastFloat = 0.1f;  // of the room, each way
constexpr float kDropEdge = 0.25f;   // of a leaf: its edge, where a panel is dropped beside it

template <class Node, class Visit>
void each_leaf(Node& node, const Visit& visit) {
  if (node.is_leaf()) return visit(node);
  for (auto& part : node.parts) each_leaf(part, visit);
}

bool holds(const DockNode& leaf, std::string_view panel) {
  return std::find(leaf.panels.begin(), leaf.panels.end(), panel) != leaf.panels.end();
}

DockNode* find_leaf(DockNode& root, std::string_view panel) {
  DockNode* found = nullptr;
  each_leaf(root, [&](DockNode& leaf) {
    if (holds(leaf, panel)) found = &leaf;
  });
  return found;
}

void remove_from(DockNode& leaf, std::string_view panel) {
  const auto found = std::find(leaf.panels.begin(), leaf.panels.end(), panel);
  if (found == leaf.panels.end()) return;
  const auto place = static_cast<std::size_t>(found - leaf.panels.begin());
  leaf.panels.erase(found);
  if (leaf.active > place || leaf.active == leaf.panels.size()) leaf.active -= leaf.active > 0 ? 1 : 0;
}

// Cuts with an empty part become their other part.
void prune(DockNode& node) {
  if (node.is_leaf()) return;
  for (DockNode& part : node.parts) prune(part);
  for (std::size_t i = 0; i < 2; ++i) {
    if (!node.parts[i].is_leaf() || !node.parts[i].panels.empty()) continue;
    DockNode rest = std::move(node.parts[1 - i]);
    node = std::move(rest);
    return;
  }
}

// `panel` is a copy: the names in the tree move.
void take_out(Docking& docking, const std::string& panel) {
  each_leaf(docking.root, [&panel](DockNode& leaf) { remove_from(leaf, panel); });
  std::erase_if(docking.floating,
                [&panel](const FloatingPanel& floating) { return floating.panel == panel; });
}

void add_to(DockNode& leaf, std::string_view panel) {
  leaf.panels.emplace_back(panel);
  leaf.active = leaf.panels.size() - 1;
}

// The part of `room` the first of two gets, so that both keep their least sizes.
float divide(float part, float room, float least_first, float least_second) {
  if (room <= least_first + least_second)
    return std::floor(room * least_first / std::max(1.0f, least_first + least_second));
  return std::floor(std::clamp(part * room, least_first, room - least_second));
}

AreaSize least_of(const DockNode& node, float gap, const LeastSize& least) {
  AreaSize size;
  if (node.is_leaf()) {
    for (const std::string& panel : node.panels) {
      const AreaSize own = least(panel);
      size = {std::max(size.w, own.w), std::max(size.h, own.h)};
    }
    return size;
  }
  const AreaSize first = least_of(node.parts[0], gap, least), second = least_of(node.parts[1], gap, least);
  if (node.cut == Cut::columns) return {first.w + gap + second.w, std::max(first.h, second.h)};
  return {std::max(first.w, second.w), first.h + gap + second.h};
}

void place_node(const DockNode& node, const Area& area, const std::string& path, float gap,
                const LeastSize& least, Placement& placement) {
  if (node.is_leaf()) {
    if (!node.panels.empty()) placement.leaves.push_back({&node, area});
    return;
  }
  const AreaSize first = least_of(node.parts[0], gap, least), second = least_of(node.parts[1], gap, least);
  const bool columns = node.cut == Cut::columns;
  const float room = std::max(1.0f, (columns ? area.w : area.h) - gap);
  const float own =
      columns ? divide(node.part, room, first.w, second.w) : divide(node.part, room, first.h, second.h);
  Area before = area, between = area, after = area;
  if (columns) {
    before.w = own;
    between.x = before.right();
    between.w = gap;
    after.x = between.right();
    after.w = room - own;
  } else {
    before.h = own;
    between.y = before.bottom();
    between.h = gap;
    after.y = between.bottom();
    after.h = room - own;
  }
  placement.gaps.push_back({path, node.cut, between, own, room});
  place_node(node.parts[0], before, path + "0", gap, least, placement);
  place_node(node.parts[1], after, path + "1", gap, least, placement);
}

Area half(const Area& area, Side side) {
  switch (side) {
    case Side::left:
      return {area.x, area.y, area.w / 2, area.h};
    case Side::right:
      return {area.x + area.w / 2, area.y, area.w / 2, area.h};
    case Side::top:
      return {area.x, area.y, area.w, area.h / 2};
    case Side::bottom:
      break;
  }
  return {area.x, area.y + area.h / 2, area.w, area.h / 2};
}

// The edge that the point is in, the nearest one in a corner.
std::optional<Side> edge_at(const Area& area, float x, float y) {
  const std::array<std::pair<float, Side>, 4> parts{{{(x - area.x) / area.w, Side::left},
                                                     {(area.right() - x) / area.w, Side::right},
                                                     {(y - area.y) / area.h, Side::top},
                                                     {(area.bottom() - y) / area.h, Side::bottom}}};
  const auto nearest = std::min_element(parts.begin(), parts.end(),
                                        [](const auto& a, const auto& b) { return a.first < b.first; });
  return nearest->first < kDropEdge ? std::optional(nearest->second) : std::nullopt;
}

/// The tabs of a leaf but for that of `panel`, in their order.
std::vector<PlacedTab> tabs_beside(const DockNode& leaf, std::string_view panel,
                                   const std::vector<PlacedTab>& tabs) {
  std::vector<PlacedTab> others;
  for (const std::string& one : leaf.panels) {
    const auto found =
        std::find_if(tabs.begin(), tabs.end(), [&](const PlacedTab& tab) { return tab.panel == one; });
    if (one != panel && found != tabs.end()) others.push_back(*found);
  }
  return others;
}

/// The place among `others` that the pointer at `x` means; nothing if the panel stands there.
std::optional<Drop> drop_among(const DockNode& leaf, std::string_view panel,
                               const std::vector<PlacedTab>& others, float x) {
  const auto after = std::find_if(others.begin(), others.end(),
                                  [x](const PlacedTab& tab) { return x < tab.area.x + tab.area.w / 2; });
  // Tabs that have no room are not seen, but count.
  std::vector<std::string> all = leaf.panels;
  std::erase(all, panel);
  const PlacedTab& beside = after == others.end() ? others.back() : *after;
  const auto found = std::find(all.begin(), all.end(), beside.panel);
  const std::size_t place = static_cast<std::size_t>(found - all.begin()) + (after == others.end() ? 1 : 0);
  const auto now = std::find(leaf.panels.begin(), leaf.panels.end(), panel);
  if (now != leaf.panels.end() && static_cast<std::size_t>(now - leaf.panels.begin()) == place) return {};
  float line = after == others.end() ? beside.area.right() : beside.area.x;
  if (after != others.begin() && after != others.end()) line = (line + (after - 1)->area.right()) / 2;
  return Drop{beside.panel, std::nullopt, {line, beside.area.y, 0, beside.area.h}, place};
}

}  // namespace

bool DockNode::operator==(const DockNode& other) const {
  if (is_leaf() || other.is_leaf()) return is_leaf() && other.is_leaf() && panels == other.panels;
  return cut == other.cut && part == other.part && parts == other.parts;
}

DockNode dock_leaf(std::vector<std::string> panels) {
  DockNode node;
  node.panels = std::move(panels);
  return node;
}

DockNode dock_cut(Cut cut, float part, DockNode first, DockNode second) {
  DockNode node;
  node.cut = cut;
  node.part = part;
  node.parts.push_back(std::move(first));
  node.parts.push_back(std::move(second));
  return node;
}

std::vector<std::string> open_panels(const Docking& docking) {
  std::vector<std::string> panels;
  each_leaf(docking.root, [&](const DockNode& leaf) {
    panels.insert(panels.end(), leaf.panels.begin(), leaf.panels.end());
  });
  for (const FloatingPanel& floating : docking.floating) panels.push_back(floating.panel);
  return panels;
}

bool is_open(const Docking& docking, std::string_view panel) {
  return leaf_of(docking, panel) != nullptr || is_floating(docking, panel);
}

bool is_floating(const Docking& docking, std::string_view panel) {
  return std::any_of(docking.floating.begin(), docking.floating.end(),
                     [panel](const FloatingPanel& floating) { return floating.panel == panel; });
}

bool is_in_front(const Docking& docking, std::string_view panel) {
  const DockNode* const leaf = leaf_of(docking, panel);
  return leaf != nullptr ? leaf->panels[leaf->active] == panel : is_floating(docking, panel);
}

const DockNode* leaf_of(const Docking& docking, std::string_view panel) {
  const DockNode* found = nullptr;
  each_leaf(docking.root, [&](const DockNode& leaf) {
    if (holds(leaf, panel)) found = &leaf;
  });
  return found;
}

void bring_to_front(Docking& docking, std::string_view panel) {
  DockNode* const leaf = find_leaf(docking.root, panel);
  if (leaf == nullptr) return;
  const auto found = std::find(leaf->panels.begin(), leaf->panels.end(), panel);
  leaf->active = static_cast<std::size_t>(found - leaf->panels.begin());
}

void close_panel(Docking& docking, std::string_view panel) {
  take_out(docking, std::string(panel));
  prune(docking.root);
}

void join_panel(Docking& docking, std::string_view panel, std::string_view beside) {
  const DockNode* const target = find_leaf(docking.root, beside);
  if (target == nullptr || holds(*target, panel)) return;
  const std::string own(panel), neighbour(beside);
  take_out(docking, own);
  add_to(*find_leaf(docking.root, neighbour), own);
  prune(docking.root);
}

void place_tab(Docking& docking, std::string_view panel, std::string_view beside, std::size_t place) {
  const DockNode* const target = find_leaf(docking.root, beside);
  if (target == nullptr) return;
  const std::string own(panel);
  std::vector<std::string> others = target->panels;
  std::erase(others, own);
  if (others.empty()) return;  // it has the leaf to itself
  take_out(docking, own);
  DockNode& leaf = *find_leaf(docking.root, others.front());
  const std::size_t at = std::min(place, leaf.panels.size());
  leaf.panels.insert(leaf.panels.begin() + static_cast<std::ptrdiff_t>(at), own);
  leaf.active = at;
  prune(docking.root);
}

void split_panel(Docking& docking, std::string_view panel, std::string_view beside, Side side) {
  const DockNode* const target = find_leaf(docking.root, beside);
  if (target == nullptr || (holds(*target, panel) && target->panels.size() == 1)) return;
  const std::string stays =
      beside != panel ? std::string(beside) : target->panels[target->panels.front() == panel ? 1 : 0];
  const std::string moved(panel);
  take_out(docking, moved);
  DockNode& leaf = *find_leaf(docking.root, stays);
  DockNode own = dock_leaf({moved}), other = std::move(leaf);
  const bool first = side == Side::left || side == Side::top;
  const Cut cut = side == Side::left || side == Side::right ? Cut::columns : Cut::rows;
  leaf = first ? dock_cut(cut, 0.5f, std::move(own), std::move(other))
               : dock_cut(cut, 0.5f, std::move(other), std::move(own));
  prune(docking.root);
}

void float_panel(Docking& docking, std::string_view panel, Area place) {
  const std::string own(panel);
  take_out(docking, own);
  prune(docking.root);
  place.w = std::clamp(place.w, kLeastFloat, 1.0f);
  place.h = std::clamp(place.h, kLeastFloat, 1.0f);
  place.x = std::clamp(place.x, 0.0f, 1 - place.w);
  place.y = std::clamp(place.y, 0.0f, 1 - place.h);
  docking.floating.push_back({own, place});
}

void open_panel(Docking& docking, std::string_view panel, const Docking& standard) {
  if (leaf_of(docking, panel) != nullptr) return bring_to_front(docking, panel);
  const std::string own(panel);
  take_out(docking, own);
  DockNode* target = nullptr;
  each_leaf(docking.root, [&](DockNode& leaf) { target = &leaf; });
  if (const DockNode* const home = leaf_of(standard, own)) {
    for (const std::string& neighbour : home->panels) {
      if (DockNode* const found = find_leaf(docking.root, neighbour)) target = found;
    }
  }
  add_to(*target, own);
}

void keep_fronts(Docking& to, const Docking& from) {
  each_leaf(from.root, [&](const DockNode& leaf) {
    if (!leaf.panels.empty()) bring_to_front(to, leaf.panels[leaf.active]);
  });
}

Placement place(const DockNode& root, const Area& room, float gap, const LeastSize& least) {
  Placement placement;
  place_node(root, room, "0", gap, least, placement);
  return placement;
}

DockNode* cut_at(DockNode& root, std::string_view path) {
  if (path.empty() || path.front() != '0') return nullptr;
  DockNode* node = &root;
  for (const char turn : path.substr(1)) {
    if (node->is_leaf() || (turn != '0' && turn != '1')) return nullptr;
    node = &node->parts[turn == '0' ? 0 : 1];
  }
  return node->is_leaf() ? nullptr : node;
}

std::optional<Drop> drop_at(const Placement& placement, std::string_view panel, float x, float y, float title,
                            const std::vector<PlacedTab>& tabs) {
  for (const auto& [leaf, area] : placement.leaves) {
    if (!area.contains(x, y)) continue;
    const bool own = holds(*leaf, panel);
    if (y < area.y + title) {
      const std::vector<PlacedTab> others = tabs_beside(*leaf, panel, tabs);
      if (!others.empty()) return drop_among(*leaf, panel, others, x);
    }
    const Area body{area.x, area.y + title, area.w, std::max(1.0f, area.h - title)};
    const auto side = body.contains(x, y) ? edge_at(body, x, y) : std::nullopt;
    if (own && (!side || leaf->panels.size() == 1)) return std::nullopt;
    return Drop{leaf->panels[leaf->active], side, side ? half(area, *side) : area};
  }
  return std::nullopt;
}

}  // namespace warpscope::ui
