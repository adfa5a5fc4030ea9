#pragma once
// How panels share the window: a tree of cuts whose leaves hold panels as tabs, and panels that float above. Plain
// data; nothing is drawn here.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace warpscope::ui {

/// A rectangle, in pixels of the window or in parts of a larger one.
struct Area {
  float x = 0, y = 0, w = 0, h = 0;

  float right() const { return x + w; }
  float bottom() const { return y + h; }
  bool contains(float px, float py) const { return px >= x && px < right() && py >= y && py < bottom(); }
  bool operator==(const Area&) const = default;
};

struct AreaSize {
  float w = 0, h = 0;
};

enum class Cut : std::uint8_t { columns, rows };  ///< the parts stand side by side; one above the other
enum class Side : std::uint8_t { left, right, top, bottom };

/// A leaf (no parts) or a cut into two parts.
struct DockNode {
  std::vector<std::string> panels;  ///< of a leaf: its tabs
  std::size_t active = 0;           ///< of panels: the tab in front
  Cut cut = Cut::columns;
  float part = 0.5f;            ///< of the room that the first part gets
  std::vector<DockNode> parts;  ///< none or two

  bool is_leaf() const { return parts.empty(); }
  /// Which tab is in front makes no difference.
  bool operator==(const DockNode& other) const;
};

struct FloatingPanel {
  std::string panel;
  Area place;  ///< in parts of the room of all panels, so that it fits windows of any size

  bool operator==(const FloatingPanel&) const = default;
};

/// Each panel stands in it once or not at all; what does not is closed.
struct Docking {
  DockNode root;  ///< a leaf without panels if none is docked
  std::vector<FloatingPanel> floating;

  bool operator==(const Docking&) const = default;
};

DockNode dock_leaf(std::vector<std::string> panels);
DockNode dock_cut(Cut cut, float part, DockNode first, DockNode second);

// Questions -----------------------------------------------------------------------------------------

/// All panels that are open, those that float last.
std::vector<std::string> open_panels(const Docking& docking);
bool is_open(const Docking& docking, std::string_view panel);
bool is_floating(const Docking& docking, std::string_view panel);
/// True if it floats or is the tab in front of its leaf.
bool is_in_front(const Docking& docking, std::string_view panel);
/// The leaf that holds it; nullptr if it floats or is closed.
const DockNode* leaf_of(const Docking& docking, std::string_view panel);

// Changes: each keeps every other panel open ---------------------------------------------------------

/// Its tab comes to the front. Nothing happens to one that is closed.
void bring_to_front(Docking& docking, std::string_view panel);
/// Its neighbour takes the room of a leaf that becomes empty.
void close_panel(Docking& docking, std::string_view panel);
/// It becomes the last tab of the leaf of `beside`, in front. Nothing happens if that is its own leaf, or is closed
/// or floats.
void join_panel(Docking& docking, std::string_view panel, std::string_view beside);
/// It becomes the tab of that leaf before which `place` others stand, in front; its own leaf may be the same. Nothing
/// happens if the leaf of `beside` is closed or floats.
void place_tab(Docking& docking, std::string_view panel, std::string_view beside, std::size_t place);
/// It gets half of the leaf of `beside`, on that side of it. Nothing happens if it has that leaf to itself.
void split_panel(Docking& docking, std::string_view panel, std::string_view beside, Side side);
/// It floats at `place`, moved and cut so that it lies within the room, above the other floating panels.
void float_panel(Docking& docking, std::string_view panel, Area place);
/// Opens a closed or docks a floating panel beside those that it stands with in `standard`, as far as they are
/// docked, else in the last leaf; then its tab comes to the front.
void open_panel(Docking& docking, std::string_view panel, const Docking& standard);
/// Tabs that are in front in `from` are so in `to`, where their leaf holds them.
void keep_fronts(Docking& to, const Docking& from);

// Places --------------------------------------------------------------------------------------------

struct PlacedLeaf {
  const DockNode* leaf = nullptr;
  Area area;
};

/// A gap between two parts, which can be dragged.
struct PlacedGap {
  std::string path;  ///< of the cut: "0" is the root, "01" the second part of it
  Cut cut = Cut::columns;
  Area area;
  float first = 0, room = 0;  ///< what the first part has of the pixels of both
};

struct Placement {
  std::vector<PlacedLeaf> leaves;  ///< in the order of the tree; empty ones are left out
  std::vector<PlacedGap> gaps;
};

/// The least size of a panel, in pixels.
using LeastSize = std::function<AreaSize(std::string_view panel)>;

/// Places the tree in `room`, with gaps of `gap` pixels. Leaves keep the least sizes of their panels where they fit;
/// where they do not, all shrink in proportion. Corners are whole pixels where `room` has them. Refers to `root`.
Placement place(const DockNode& root, const Area& room, float gap, const LeastSize& least);

/// The cut of a gap; nullptr if there is none.
DockNode* cut_at(DockNode& root, std::string_view path);

/// A tab in the title row of its leaf.
struct PlacedTab {
  std::string panel;
  Area area;
};

/// Where a dragged panel would go.
struct Drop {
  std::string beside;        ///< a panel of the leaf
  std::optional<Side> side;  ///< on that side of it; nothing: as a tab of it
  Area area;  ///< what it would get; with a `place` the line between two tabs where it would stand
  std::optional<std::size_t> place = {};  ///< of place_tab(); nothing: as the last tab
};

/// For a panel that is let go at a point. The outer quarter of a leaf below its title row, `title` pixels high, splits
/// it; among the `tabs` in the title row it takes a place. Nothing where there is no leaf, and where nothing would
/// change.
std::optional<Drop> drop_at(const Placement& placement, std::string_view panel, float x, float y, float title,
                            const std::vector<PlacedTab>& tabs = {});

}  // namespace warpscope::ui
