#include "ui/paint/draw_list.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace warpscope::ui::paint {

void Triangles::collect(const ImDrawData& data) {
  vertices.clear();
  indices.clear();
  commands.clear();
  names.clear();
  width = static_cast<int>(std::lround(data.DisplaySize.x * data.FramebufferScale.x));
  height = static_cast<int>(std::lround(data.DisplaySize.y * data.FramebufferScale.y));
  vertices.reserve(static_cast<std::size_t>(data.TotalVtxCount));
  indices.reserve(static_cast<std::size_t>(data.TotalIdxCount));
  for (int i = 0; i < data.CmdListsCount; ++i) add(*data.CmdLists[i], data.DisplayPos, data.FramebufferScale);
}

void Triangles::add(const ImDrawList& list, ImVec2 origin, ImVec2 scale) {
  const auto first_vertex = static_cast<std::uint32_t>(vertices.size());
  for (const ImDrawVert& v : list.VtxBuffer) {
    vertices.push_back(
        {(v.pos.x - origin.x) * scale.x, (v.pos.y - origin.y) * scale.y, v.uv.x, v.uv.y, v.col});
  }
  for (const ImDrawCmd& command : list.CmdBuffer) {
    if (command.UserCallback != nullptr || command.ElemCount == 0) continue;
    const auto pixel = [](float place, int most) { return std::clamp(static_cast<int>(place), 0, most); };
    Command clip{pixel((command.ClipRect.x - origin.x) * scale.x, width),
                 pixel((command.ClipRect.y - origin.y) * scale.y, height),
                 pixel((command.ClipRect.z - origin.x) * scale.x, width),
                 pixel((command.ClipRect.w - origin.y) * scale.y, height),
                 texture((std::uintptr_t)command.GetTexID())};  // a pointer or an integer, by ImGui's version
    if (clip.left >= clip.right || clip.top >= clip.bottom) continue;
    clip.first_index = static_cast<std::uint32_t>(indices.size());
    clip.triangles = command.ElemCount / 3;
    const std::uint32_t base = first_vertex + command.VtxOffset;
    for (unsigned i = 0; i < command.ElemCount; ++i) {
      indices.push_back(base + list.IdxBuffer[static_cast<int>(command.IdxOffset + i)]);
    }
    commands.push_back(clip);
  }
}

int Triangles::texture(std::uintptr_t name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<int>(found - names.begin());
  names.push_back(name);
  return static_cast<int>(names.size()) - 1;
}

}  // namespace warpscope::ui::paint
