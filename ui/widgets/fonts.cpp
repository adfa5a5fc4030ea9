#include "ui/widgets/fonts.h"

#include <cmath>
#include <filesystem>
#include <initializer_list>
#include <string>

namespace warpscope::ui {
namespace {

// Latin, then the few signs the program shows: dashes, bullets, ellipsis, minus, arrows, almost-equal, box
// drawing and geometric shapes. A font without some of them just lacks these.
constexpr ImWchar kGlyphs[] = {0x0020, 0x017F, 0x0394, 0x0394, 0x03BC, 0x03BC, 0x2010, 0x2027,
                               0x2030, 0x203A, 0x2070, 0x2094, 0x20AC, 0x20AC, 0x2190, 0x2199,
                               0x2202, 0x221E, 0x2248, 0x2265, 0x2500, 0x25FF, 0};
// The font of figures that stand by themselves: from the space to the colon.
constexpr ImWchar kNumberGlyphs[] = {0x0020, 0x003A, 0};

std::string first_existing(std::initializer_list<const char*> paths) {
  std::error_code ignored;
  for (const char* path : paths) {
    if (std::filesystem::is_regular_file(path, ignored)) return path;
  }
  return {};
}

std::string inter(const std::string& weight, const char* dejavu) {
  const std::string otf = "/usr/share/fonts/opentype/inter/Inter-" + weight + ".otf";
  const std::string ttf = "/usr/share/fonts/truetype/inter/Inter-" + weight + ".ttf";
  return first_existing({otf.c_str(), ttf.c_str(), dejavu});
}

ImFont* load(const std::string& path, float size, float density, const ImWchar* glyphs = kGlyphs) {
  ImFontConfig config;
  config.SizePixels = std::round(size * density);
  config.OversampleH = 2;
  config.OversampleV = 1;
  config.GlyphRanges = glyphs;
  auto* const atlas = ImGui::GetIO().Fonts;
  ImFont* font = nullptr;
  if (!path.empty()) font = atlas->AddFontFromFileTTF(path.c_str(), config.SizePixels, &config);
  if (font == nullptr) {
    config.GlyphRanges = nullptr;
    font = atlas->AddFontDefault(&config);
  }
  return font;
}

}  // namespace

Fonts load_fonts(float scale, float density, int text_size) {
  constexpr float kSmall = 13.0f / 16;  // of units and captions
  const float size = static_cast<float>(text_size) * scale;
  constexpr const char* kDejaVu = "/usr/share/fonts/truetype/dejavu/";
  const std::string sans = std::string(kDejaVu) + "DejaVuSans.ttf",
                    bold = std::string(kDejaVu) + "DejaVuSans-Bold.ttf";
  const std::string mono = std::string(kDejaVu) + "DejaVuSansMono.ttf";
  auto& io = ImGui::GetIO();
  io.Fonts->Clear();
  io.FontGlobalScale = 1 / density;
  Fonts fonts;
  fonts.text = load(inter("Regular", sans.c_str()), size, density);
  fonts.small = load(inter("Regular", sans.c_str()), kSmall * size, density);
  fonts.strong = load(inter("SemiBold", bold.c_str()), size, density);
  fonts.large = load(inter("SemiBold", bold.c_str()), 2 * size, density, kNumberGlyphs);
  fonts.numbers = load(first_existing({"/usr/share/fonts/truetype/jetbrains-mono/JetBrainsMono-Regular.ttf",
                                       "/usr/share/fonts/opentype/jetbrains-mono/JetBrainsMono-Regular.otf",
                                       "/usr/share/fonts/truetype/JetBrainsMono-Regular.ttf", mono.c_str()}),
                       size, density);
  io.FontDefault = fonts.text;
  return fonts;
}

}  // namespace warpscope::ui
