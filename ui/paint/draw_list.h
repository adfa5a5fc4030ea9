#pragma once
// Dear ImGui's draw lists as one list of triangles.

#include <cstdint>
#include <vector>

#include <imgui.h>

#include "ui/paint/scene.h"

namespace warpscope::ui::paint {

/// The lists of a frame, one after the other. Textures are told by the names that `names` holds, in the order in which they were
/// first met.
struct Triangles {
  std::vector<Vertex> vertices;
  std::vector<std::uint32_t> indices;
  std::vector<Command> commands;
  std::vector<Chunk> chunks;
  std::vector<std::uintptr_t> names;
  int width = 0, height = 0;  ///< of the framebuffer, pixels

  /// Replaces what is there, but keeps its memory. Places become pixels of the framebuffer. What lies outside of it, and calls
  /// back, are left out.
  void collect(const ImDrawData& data);

 private:
  void add(const ImDrawList& list, ImVec2 origin, ImVec2 scale);
  int texture(std::uintptr_t name);
};

}  // namespace warpscope::ui::paint
