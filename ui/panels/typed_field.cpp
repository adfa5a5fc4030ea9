#include "ui/panels/typed_field.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "gpu/files/utf8.h"
#include "ui/panels/text_rows.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

constexpr char32_t kReplacement = 0xFFFD, kLastOfFirstPlane = 0xFFFF;
constexpr std::size_t kLongestCharacter = 3;  // bytes, in the first plane

/// Stands before the clipboard for as long as a field is drawn.
class Paste {
 public:
  explicit Paste(std::size_t room) : room_(room), before_(ImGui::GetIO()) {
    ImGuiIO& io = ImGui::GetIO();
    get_ = io.GetClipboardTextFn;
    set_ = io.SetClipboardTextFn;
    user_ = io.ClipboardUserData;
    io.ClipboardUserData = this;
    io.GetClipboardTextFn = [](void* self) { return static_cast<Paste*>(self)->get(); };
    io.SetClipboardTextFn = [](void* self, const char* text) {
      const auto* const paste = static_cast<Paste*>(self);
      paste->set_(paste->user_, text);
    };
  }
  ~Paste() {
    before_.ClipboardUserData = user_;
    before_.GetClipboardTextFn = get_;
    before_.SetClipboardTextFn = set_;
  }
  Paste(const Paste&) = delete;
  Paste& operator=(const Paste&) = delete;

  bool used() const { return used_; }
  std::size_t cut() const { return cut_; }

 private:
  const char* get() {
    const char* const text = get_(user_);
    if (text == nullptr) return nullptr;
    used_ = true;
    text_ = pasteable(text, room_, cut_);
    return text_.c_str();
  }

  std::size_t room_;
  ImGuiIO& before_;
  const char* (*get_)(void*) = nullptr;
  void (*set_)(void*, const char*) = nullptr;
  void* user_ = nullptr;
  std::string text_;
  bool used_ = false;
  std::size_t cut_ = 0;
};

}  // namespace

std::string pasteable(std::string_view text, std::size_t room, std::size_t& cut) {
  const std::u32string characters = shown_characters(text);
  const std::size_t taken = std::min(room, characters.size());
  cut = characters.size() - taken;
  std::string result;
  for (const char32_t point : std::u32string_view(characters).substr(0, taken)) {
    result += files::encode_utf8(point > kLastOfFirstPlane ? kReplacement : point);
  }
  return result;
}

TypedField::TypedField() : buffer_(kLongestCharacter * kMostCharacters + 1) {}

void TypedField::clear() {
  std::fill(buffer_.begin(), buffer_.end(), '\0');
  cut_ = 0;
}

void TypedField::draw(const Frame& frame, const char* name, const char* hint, float width) {
  const std::size_t now = files::decode_utf8(text()).size();
  Paste paste(kMostCharacters - std::min(now, kMostCharacters));
  ImGui::SetNextItemWidth(width);
  const std::string id = fmt::format("##{}", name);
  const bool escaped = active_ && ImGui::IsKeyPressed(ImGui::GetKeyIndex(ImGuiKey_Escape), false);
  const std::vector<char> before = escaped ? buffer_ : std::vector<char>();
  const std::string seen = ellipsize(frame.fonts.text, hint, width - 2 * ImGui::GetStyle().FramePadding.x);
  if (ImGui::InputTextWithHint(id.c_str(), seen.c_str(), buffer_.data(), buffer_.size()) && !paste.used())
    cut_ = 0;
  if (paste.used()) cut_ = paste.cut();
  // Dear ImGui puts back what stood there when the field was entered.
  if (escaped) buffer_ = before;
  active_ = ImGui::IsItemActive();
  if (active_) {
    ImGui::GetWindowDrawList()->AddRect(ImGui::GetItemRectMin(), ImGui::GetItemRectMax(),
                                        frame.palette.accent, 3 * frame.scale);
  }
  trace_item(name);
}

std::string TypedField::lost_text(const Frame& frame) const {
  std::size_t replaced = 0, without_picture = 0;
  for (const char32_t point : shown_characters(text())) {
    if (point == kReplacement) {
      ++replaced;
    } else if (frame.fonts.text->FindGlyphNoFallback(static_cast<ImWchar>(point)) == nullptr) {
      ++without_picture;
    }
  }
  std::string result;
  const auto add = [&result](const std::string& sentence) {
    result += (result.empty() ? "" : " ") + sentence;
  };
  if (cut_ > 0) {
    add(fmt::format("The last {} characters of what was pasted had no room: the field holds {}.",
                    with_thousands(cut_), with_thousands(kMostCharacters)));
  }
  if (replaced > 0) {
    add(fmt::format(
        "{} of the characters {} beyond Unicode's first plane or broken: the network gets U+FFFD.",
        with_thousands(replaced), replaced == 1 ? "is" : "are"));
  }
  if (without_picture > 0) {
    add(fmt::format(
        "{} of them {} not in the window's font and shown as one sign; the network reads them as they are.",
        with_thousands(without_picture), without_picture == 1 ? "is" : "are"));
  }
  return result;
}

}  // namespace warpscope::ui
