#include "ui/plot/picture.h"

#include <algorithm>
#include <cmath>

#include "gpu/runs/image_grid.h"
#include "ui/paint/painter.h"
#include "ui/widgets/theme.h"

namespace warpscope::ui::plot {
namespace {

constexpr std::uintptr_t kFontTexture = 1;

// A second Dear ImGui beside the window's, if there is one, which is current again afterwards.
class OwnContext {
 public:
  OwnContext() : before_(ImGui::GetCurrentContext()), own_(ImGui::CreateContext()) {
    ImGui::SetCurrentContext(own_);
    ImGui::GetIO().IniFilename = nullptr;
    ImGui::GetIO().BackendFlags |= ImGuiBackendFlags_RendererHasVtxOffset;  // the painter takes long lists
  }
  ~OwnContext() {
    ImGui::DestroyContext(own_);
    ImGui::SetCurrentContext(before_);
  }
  OwnContext(const OwnContext&) = delete;
  OwnContext& operator=(const OwnContext&) = delete;

 private:
  ImGuiContext* before_;
  ImGuiContext* own_;
};

void draw_window(ImVec2 size, const Fonts& fonts, const std::function<void(const Fonts&)>& draw) {
  ImGui::SetNextWindowPos(ImVec2(0, 0));
  ImGui::SetNextWindowSize(size);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(0, 0));
  ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, 0);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 0);
  ImGui::Begin("picture", nullptr,
               ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoBackground | ImGuiWindowFlags_NoMove |
                   ImGuiWindowFlags_NoSavedSettings | ImGuiWindowFlags_NoNav | ImGuiWindowFlags_NoInputs);
  draw(fonts);
  ImGui::End();
  ImGui::PopStyleVar(3);
}

// The draw lists of the current context as pixels.
Picture painted(const paint::TextureStore& textures, ImU32 background) {
  paint::Triangles triangles;
  triangles.collect(*ImGui::GetDrawData());
  paint::Painter painter;
  return rgb_of(painter.paint(triangles, textures, background));
}

}  // namespace

Picture draw_alone(ImVec2 size, float scale, float density, const Palette& palette,
                   const std::function<void(const Fonts&)>& draw) {
  const OwnContext context;
  ImGuiIO& io = ImGui::GetIO();
  io.DisplaySize = ImVec2(std::max(1.0f, size.x), std::max(1.0f, size.y));
  io.DisplayFramebufferScale = ImVec2(density, density);
  io.DeltaTime = 1.0f / 60;
  apply_theme(palette, scale);
  const Fonts fonts = load_fonts(scale, density);
  unsigned char* texels = nullptr;
  int width = 0, height = 0;
  io.Fonts->GetTexDataAsRGBA32(&texels, &width, &height);
  io.Fonts->SetTexID((ImTextureID)kFontTexture);  // a pointer or an integer, by ImGui's version
  paint::TextureStore textures;
  textures.put(kFontTexture, width, height, true, texels);
  ImGui::NewFrame();
  draw_window(io.DisplaySize, fonts, draw);
  ImGui::Render();
  return painted(textures, palette.panel);
}

Picture draw_picture(const Frame& frame, ImVec2 size, float factor, float density, const Painter& painter) {
  const ImVec2 all(std::round(size.x * factor), std::round(size.y * factor));
  const float scale = frame.scale * factor;
  return draw_alone(all, scale, density, frame.palette, [&](const Fonts& fonts) {
    painter(Frame{frame.snapshot, frame.send, fonts, frame.palette, scale}, ImVec2(0, 0), all);
  });
}

Picture rgb_of(const paint::Picture& painted) {
  Picture picture{painted.width, painted.height, {}};
  const auto count = static_cast<std::size_t>(painted.width) * static_cast<std::size_t>(painted.height);
  picture.pixels.reserve(3 * count);
  for (std::size_t i = 0; i < count; ++i) {
    for (const int shift : {0, 8, 16})
      picture.pixels.push_back(static_cast<unsigned char>(painted.pixels[i] >> shift));
  }
  return picture;
}

std::string encode_png(const Picture& picture) {
  return training::encode_png(picture.pixels, picture.width, picture.height, 3);
}

}  // namespace warpscope::ui::plot
