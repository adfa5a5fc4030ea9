#pragma once
// Dear ImGui's draw lists as one list of triangles.

#include <cstdint>
#include <vector>

#include <imgui.h>

#include "ui/paint/scene.h"

namespace warpscope::ui::paint {

/// The lists of a frame, one after the other. Command::texture counts in `names`, which holds the OpenGL
/// names of the textures in the order in which they were first met.
struct Triangles {
  std::vector<Vertex> vertices;
  std::vector<std::uint32_t> indices;
  std::vector<Command> commands;
  std::vector<std::uintptr_t> names;
  int width = 0, height = 0;  ///< of the framebuffer, pixels

  /// Replaces what is there, but keeps its memory. Places become pixels of the framebuffer. Commands that lie
  /// outside of it, and those that are callbacks, are left out.
  void collect(const ImDrawData& data);

 private:
  void add(const ImDrawList& list, ImVec2 origin, ImVec2 scale);
  int texture(std::uintptr_t name);
};

}  // namespace warpscope::ui::paint
