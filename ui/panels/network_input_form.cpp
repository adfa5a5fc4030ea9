#include "ui/panels/network_input_form.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "ui/frame/trace.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

// Design pixels.
constexpr float kGap = 12, kLabelGap = 6, kAlphabetWidth = 240, kLeastAlphabet = 96;
constexpr std::size_t kMostAlphabet = 4 * 255 + 1;  // bytes of so many characters
constexpr std::array kTakes{"images", "texts"};
constexpr std::array kLosses{"reconstructs", "classifies"};

/// The name of a field before its control, which is `width` pixels wide; both stay in one line.
void label(const Frame& frame, const char* text, float width, std::string_view tip) {
  const float gap = std::floor(kLabelGap * frame.scale);
  next_in_row(frame, kGap, text_width(frame.fonts.small, text) + gap + width);
  caption(frame, text);
  tooltip(frame, tip);
  ImGui::SameLine(0, gap);
}

float width_of_choice(const Frame& frame, std::span<const char* const> labels) {
  float width = 0;
  for (const char* const each : labels) width += text_button_width(frame, each);
  return width;
}

}  // namespace

void NetworkInputForm::draw(const Frame& frame, NetworkDraft& draft, std::string& message) {
  holds_text_ = false;
  int takes = draft.network().reads_text() ? 1 : 0;
  if (segmented(frame, "network.edit.takes", kTakes, &takes,
                "What it takes: images of a size, or texts of a length as numbers of an alphabet")) {
    draft.take_texts(takes == 1);
    message.clear();
  }
  for (const NetworkField& field : network_fields(draft.network())) {
    if (field.number != &models::Model::classes) draw_number(frame, draft, field, message);
  }
  if (draft.network().reads_text()) draw_alphabet(frame, draft, message);
  int loss = draft.network().loss == models::Loss::mse ? 0 : 1;
  next_in_row(frame, kGap, width_of_choice(frame, kLosses));
  if (segmented(frame, "network.edit.loss", kLosses, &loss,
                "Its loss: the mean squared error from its input (mse), or the cross-entropy of a logit for "
                "each class "
                "(cross_entropy)")) {
    draft.set_loss(loss == 0 ? models::Loss::mse : models::Loss::cross_entropy);
    message.clear();
  }
  for (const NetworkField& field : network_fields(draft.network())) {
    if (field.number == &models::Model::classes) draw_number(frame, draft, field, message);
  }
}

void NetworkInputForm::draw_number(const Frame& frame, NetworkDraft& draft, const NetworkField& field,
                                   std::string& message) {
  const std::string name = fmt::format("network.edit.{}", field.key);
  const std::string tip = fmt::format("{}: a whole number from {} to {}", field.meaning, field.least,
                                      with_thousands(static_cast<std::uint64_t>(field.most)));
  const float width =
      std::ceil(text_width(frame.fonts.numbers, fmt::format("{}", field.most)) + 20 * frame.scale);
  label(frame, field.key, width, tip);
  const ValueSpec spec{.name = name,
                       .label = field.key,
                       .tip = tip,
                       .limits = {.least = static_cast<double>(field.least),
                                  .most = static_cast<double>(field.most),
                                  .integer = true},
                       .scale = {},
                       .zero_text = {},
                       .unit = {}};
  const ValueEdit edit = boxes_[name].draw_box(frame, spec, draft.network().*field.number, width);
  if (boxes_[name].typed()) holds_text_ = true;
  if (!edit.refusal.empty()) message = edit.refusal;
  if (!edit.finished) return;
  message.clear();
  draft.set(field, static_cast<int>(edit.value));
}

/// What is typed counts with Enter, or when the field is left.
void NetworkInputForm::draw_alphabet(const Frame& frame, NetworkDraft& draft, std::string& message) {
  const char* const tip = "Its characters, each once; what is not among them is one of its own";
  label(frame, "alphabet", std::floor(kLeastAlphabet * frame.scale), tip);
  std::array<char, kMostAlphabet> buffer{};
  const std::string& shown = typing_ ? typed_ : draft.network().alphabet;
  shown.copy(buffer.data(), buffer.size() - 1);
  ImGui::SetNextItemWidth(
      std::min(ImGui::GetContentRegionAvail().x, std::floor(kAlphabetWidth * frame.scale)));
  const bool entered =
      ImGui::InputText("##network.edit.alphabet", buffer.data(), buffer.size(),
                       ImGuiInputTextFlags_EnterReturnsTrue | ImGuiInputTextFlags_AutoSelectAll);
  trace_item("network.edit.alphabet");
  const bool was = std::exchange(typing_, ImGui::IsItemActive());
  if (typing_) {
    typed_ = buffer.data();
    if (typed_ != draft.network().alphabet) holds_text_ = true;
    ImGui::GetWindowDrawList()->AddRect(ImGui::GetItemRectMin(), ImGui::GetItemRectMax(),
                                        frame.palette.accent, 3 * frame.scale);
    return;
  }
  if (!entered && !was) return tooltip(frame, tip);
  message = draft.set_alphabet(buffer.data());
}

}  // namespace warpscope::ui
