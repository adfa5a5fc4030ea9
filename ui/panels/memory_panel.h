#pragma once
// The memory of a training step as a map: calls from left to right, bytes from below, a rectangle for
// everything that is held; beside it what other choices would need.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ui/frame/frame.h"
#include "ui/panels/memory_rows.h"
#include "ui/widgets/table.h"

namespace warpscope::ui {

class MemoryPanel {
 public:
  static std::span<const Column> columns();
  explicit MemoryPanel(models::Model model) : model_(std::move(model)) {}

  /// Another network is trained from now on.
  void follow(const models::Model& model) {
    model_ = model;
    scene_.reset();
  }
  void draw(const Frame& frame);

 private:
  void refresh(const Frame& frame);
  void draw_title(const Frame& frame) const;
  void draw_legend(const Frame& frame) const;
  void draw_map(const Frame& frame, ImVec2 size);
  void draw_parts(const Frame& frame, ImVec2 min, ImVec2 max, const plan::MemoryPart* hovered) const;
  void draw_live(const Frame& frame, ImVec2 min, ImVec2 max) const;
  void draw_choices(const Frame& frame, ImVec2 size) const;
  void trace(const Frame& frame, const plan::MemoryPart* hovered);

  models::Model model_;
  std::optional<MemoryScene> scene_;  ///< of what follows
  std::optional<plan::MemoryMap> map_;
  std::vector<MemoryChoice> choices_;
  std::string traced_;
};

}  // namespace warpscope::ui
