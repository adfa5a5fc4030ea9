#pragma once
// The memory of a training step as a map: calls from left to right, bytes from below, a rectangle for
// everything that is held; beside it what other choices would need.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gpu/messages/snapshot.h"
#include "gpu/models/model.h"
#include "gpu/plan/memory_map.h"
#include "ui/frame/frame.h"
#include "ui/widgets/table.h"

namespace warpscope::ui {

/// All that the memory of a training step depends on.
struct MemoryScene {
  plan::Selection selection;
  int batch = 0;
  training::OptimizerSettings optimizer = {};  ///< of its numbers only those that memory depends on
  training::AugmentSettings augment = {};      ///< likewise
  int head_classes = 0;                        ///< models::Model::head_classes
  bool deterministic = false;
  bool sync_batch_norm = false;
  int ranks = 1;  ///< that share the batch; the memory is that of one

  static MemoryScene of(const training::Snapshot& snapshot);
  bool operator==(const MemoryScene&) const = default;
};

/// What is held during a step; nothing if it cannot be planned.
std::optional<plan::MemoryMap> step_memory(const models::Model& model, const plan::Machine& machine,
                                           const MemoryScene& scene);

/// Another choice.
struct MemoryChoice {
  std::string group;         ///< "precision"
  std::string name;          ///< "bf16"
  std::size_t bytes = 0;     ///< of its plan; 0 if it cannot run
  std::string refusal = {};  ///< why it cannot
  bool now = false;          ///< the one in use
};

/// Every precision, batches from a quarter to four times the one in use, and every preset; only one thing differs
/// from the scene in each.
std::vector<MemoryChoice> memory_choices(const models::Model& model, const plan::Machine& machine,
                                         const MemoryScene& scene);

/// What the axis of the map counts in: the largest unit of which the map has at least one.
struct ByteUnit {
  double bytes = 1;
  const char* name = "B";
};
ByteUnit unit_of(const plan::MemoryMap& map);

/// The part at a call and a byte; nullptr where nothing is held.
const plan::MemoryPart* part_at(const plan::MemoryMap& map, std::size_t call, std::size_t offset);

/// What the pointer tells of a part: its name, size and from which call to which it is held.
std::string tip_of(const plan::MemoryMap& map, const plan::MemoryPart& part);

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
