#include "ui/panels/network/network_editor.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/files/file.h"
#include "gpu/models/model_file.h"
#include "ui/frame/trace.h"
#include "ui/input/cursor.h"
#include "ui/settings/steering.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

constexpr float kFileWidth = 176, kLeastSummary = 280, kAddWidth = 160;  // design pixels

std::string count_text(std::size_t count, const char* what) {
  return files::counted(static_cast<std::int64_t>(count), what);
}

std::string parameters_text(const DraftSummary& summary) {
  const auto text = [](std::size_t count) { return with_thousands(count); };
  if (summary.parameters_before == summary.parameters_after)
    return text(summary.parameters_after) + " parameters";
  return fmt::format("{} \u2192 {} parameters", text(summary.parameters_before),
                     text(summary.parameters_after));
}

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
                "each class (cross_entropy)")) {
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
  const std::string tip =
      fmt::format("{}: a whole number from {} to {}", field.meaning, field.least, with_thousands(field.most));
  const float width =
      std::ceil(text_width(frame.fonts.numbers, fmt::format("{}", field.most)) + 20 * frame.scale);
  label(frame, field.key, width, tip);
  const ValueSpec spec{.name = name,
                       .label = field.key,
                       .tip = tip,
                       .limits = {.least = static_cast<double>(field.least),
                                  .most = static_cast<double>(field.most),
                                  .integer = true}};
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
    outline_typed(frame);
    return;
  }
  if (!entered && !was) return tooltip(frame, tip);
  message = draft.set_alphabet(buffer.data());
}

void NetworkEditor::go_to(std::size_t layer) {
  const std::size_t layers = draft_.network().layers.size();
  focus_ = layers == 0 ? 0 : std::min(layer, layers - 1);
  form_.bring_into_view();
}

/// What other views point at is lit here, if it is still there.
void NetworkEditor::follow_cursor(const Frame& frame) {
  if (frame.cursor == nullptr || frame.cursor->output == pointed_) return;
  pointed_ = frame.cursor->output;
  const std::size_t at = models::index_of(draft_.network(), pointed_layer(frame, draft_.trained()));
  if (at < draft_.network().layers.size()) go_to(at);
}

/// The layer in focus, if it is one of the trained network, is what other views point at.
void NetworkEditor::lead_cursor(const Frame& frame) {
  if (frame.cursor == nullptr || focus_ >= draft_.network().layers.size()) return;
  point_at_layer(frame, draft_.trained(), draft_.network().layers[focus_].name);
  pointed_ = frame.cursor->output;
}

void NetworkEditor::draw(const Frame& frame) {
  follow_cursor(frame);
  const std::size_t before = focus_, version = draft_.version();
  if (ImGui::IsMouseClicked(ImGuiMouseButton_Left)) refused_in_press_ = false;
  draw_actions(frame);
  draw_file(frame);
  draw_summary(frame);
  std::string refusal = refused_ ? message_ : std::string();
  const std::string said = refusal;
  input_.draw(frame, draft_, refusal);
  form_.draw(frame, draft_, focus_, refusal);
  const bool typed = input_.typed() || form_.typed();
  if (std::exchange(typed_, typed) != typed) redraw_at(frame, ImGui::GetTime());
  if (refusal != said) {
    say(std::move(refusal), true);
    refused_in_press_ = true;
  } else if (draft_.version() != version && !answered_) {
    say({}, false);
  }
  answered_ = false;
  focus_ = std::min(focus_, std::max<std::size_t>(1, draft_.network().layers.size()) - 1);
  if (draft_.version() != version && draft_.fault() && draft_.fault()->layer == focus_)
    form_.bring_into_view();
  if (focus_ != before) lead_cursor(frame);
  trace(frame);
}

void NetworkEditor::say(std::string message, bool refusal) {
  message_ = message.empty() ? std::string() : sentence(std::move(message));
  refused_ = refusal && !message_.empty();
  answered_ = true;
}

/// Why the training cannot go on with the network on its data set, as a sentence; "" if it can.
std::string NetworkEditor::misfit(const Frame& frame) const {
  const training::DataView* const data = frame.snapshot.data.get();
  const std::string why =
      draft_.misfit(frame.snapshot.data_name.empty() ? "the data set" : frame.snapshot.data_name,
                    data == nullptr ? 0 : data->classes.size());
  return why.empty() ? "" : sentence(why);
}

/// Why no network can be applied now, as a sentence; "" if one can.
std::string NetworkEditor::why_takes_nothing(const Frame& frame) {
  if (!frame.snapshot.can.steer) return "";  // that it steers nothing is told besides
  return why_it_stands(frame.snapshot);
}

/// What is wrong with the network, as a sentence; "" if nothing is.
std::string NetworkEditor::fault_text() const {
  if (!draft_.fault()) return "";
  const auto& [layer, why] = *draft_.fault();
  if (!layer) return sentence(why);
  const bool named = !draft_.network().layers[*layer].name.empty();
  return sentence(fmt::format("{}{}: {}", named ? "layer " : "", draft_.called(*layer), why));
}

std::string NetworkEditor::why_no_apply(const Frame& frame) const {
  std::string nothing = why_takes_nothing(frame);
  if (typed_ && nothing.empty()) return "";  // the text may mend all of the following
  if (draft_.fault()) return fault_text();
  if (std::string why = misfit(frame); !why.empty()) return why;
  if (!nothing.empty()) return nothing;
  return draft_.changed() ? "" : "Nothing is changed.";
}

void NetworkEditor::apply(const Frame& frame) {
  frame.send(training::SetNetwork{draft_.network()});
  say({}, false);
}

void NetworkEditor::change_back(bool redo) {
  redo ? draft_.redo() : draft_.undo();
  say({}, false);
}

void NetworkEditor::draw_actions(const Frame& frame) {
  const std::string why_not = why_no_apply(frame);
  {
    const Steering steers(frame);
    if (text_button(frame, "network.apply", "Apply",
                    why_not.empty() ? "The training goes on with this network: what is carried over keeps "
                                      "its weights, the rest starts anew."
                                    : why_not,
                    why_not.empty()) &&
        !refused_in_press_) {
      apply(frame);
    }
  }
  const auto button = [&](const char* name, const char* label, std::string_view tip, bool enabled) {
    next_in_row(frame, 4, text_button_width(frame, label));
    return text_button(frame, name, label, tip, enabled);
  };
  if (button("network.revert", "Revert", "Back to the network that is trained", draft_.changed() || typed_)) {
    draft_.revert();
    go_to(focus_);
    say({}, false);
  }
  if (button("network.undo", "Undo",
             "Takes back the last edit; Ctrl Z does as long as there are some that are not applied",
             draft_.can_undo() || typed_) &&
      !refused_in_press_)
    change_back(false);
  if (button("network.redo", "Redo", "Makes the edit again that was taken back (Ctrl Y)", draft_.can_redo()))
    change_back(true);
  draw_layer_actions(frame);
}

void NetworkEditor::draw_layer_actions(const Frame& frame) {
  const float s = frame.scale, icon = ImGui::GetFrameHeight();
  const std::size_t layers = draft_.network().layers.size();
  const bool any = focus_ < layers;
  const std::string of = any ? draft_.called(focus_) : "";
  next_in_row(frame, 16, kAddWidth * s);
  draw_add(frame);
  next_in_row(frame, 4, text_button_width(frame, "Duplicate"));
  if (text_button(frame, "network.duplicate", "Duplicate", fmt::format("Another layer like {} behind it", of),
                  any)) {
    draft_.duplicate(focus_);
    go_to(focus_ + 1);
  }
  next_in_row(frame, 4, text_button_width(frame, "Remove"));
  if (text_button(frame, "network.remove", "Remove", fmt::format("Takes {} out", of), any)) {
    draft_.remove(focus_);
    go_to(focus_);
  }
  next_in_row(frame, 4, 2 * icon + 4 * s);
  if (icon_button(frame, "network.up", Icon::up, fmt::format("Moves {} before the layer above it", of),
                  any && focus_ > 0)) {
    draft_.move_up(focus_);
    go_to(focus_ - 1);
  }
  ImGui::SameLine(0, std::floor(4 * s));
  if (icon_button(frame, "network.down", Icon::down, fmt::format("Moves {} behind the layer below it", of),
                  any && focus_ + 1 < layers)) {
    draft_.move_down(focus_);
    go_to(focus_ + 1);
  }
}

void NetworkEditor::draw_add(const Frame& frame) {
  const bool any = focus_ < draft_.network().layers.size();
  const std::string label =
      any ? fmt::format("Add after {}", draft_.called(focus_)) : std::string("Add a layer");
  if (!begin_combo(frame, "network.add", label, std::floor(kAddWidth * frame.scale), "A new layer of a kind"))
    return;
  for (const models::LayerRow& row : models::layer_rows()) {
    const std::string name(row.name);
    if (!combo_item(frame, fmt::format("network.add={}", name).c_str(), name.c_str(), false, row.summary))
      continue;
    const std::size_t at = any ? focus_ + 1 : 0;
    draft_.add(at, row.kind);
    go_to(at);
  }
  end_combo();
}

void NetworkEditor::draw_file(const Frame& frame) {
  const float s = frame.scale;
  next_in_row(frame, 16, (kFileWidth + 160) * s);
  caption(frame, "file");
  ImGui::SameLine(0, std::floor(8 * s));
  const float buttons = text_button_width(frame, "Open") + text_button_width(frame, "Save") + 12 * s;
  ImGui::SetNextItemWidth(std::clamp(ImGui::GetContentRegionAvail().x - buttons, 48 * s, kFileWidth * s));
  if (std::exchange(focuses_file_, false)) ImGui::SetKeyboardFocusHere();
  const bool entered = ImGui::InputTextWithHint("##network.file", "network.toml", file_.data(), file_.size(),
                                                ImGuiInputTextFlags_EnterReturnsTrue);
  if (ImGui::IsItemActive()) outline_typed(frame);
  trace_item("network.file");
  const bool named = !network_path(file_.data()).empty();
  if (!ImGui::IsItemActive())
    tooltip(frame,
            "The path of a TOML file that holds a network, or the name of one that is built in (resnet9). "
            "Enter opens it.");
  ImGui::SameLine(0, std::floor(4 * s));
  const char* const unnamed = "Type the path of a file first.";
  if (text_button(frame, "network.open", "Open", named ? "Edits the network of that file" : unnamed, named) ||
      (entered && named)) {
    open();
  }
  ImGui::SameLine(0, std::floor(4 * s));
  const std::string why_not = named ? why_no_save() : unnamed;
  if (text_button(frame, "network.save", "Save",
                  why_not.empty() ? "Writes the edited network to that file, for --model" : why_not,
                  why_not.empty())) {
    save();
  }
}

std::string NetworkEditor::why_no_save() const {
  return draft_.fault() ? "A network that cannot be trained could not be opened again." : "";
}

void NetworkEditor::open() {
  const std::filesystem::path file = network_path(file_.data());
  std::error_code ignored;
  const std::vector<std::string> names = models::model_names();
  const auto named = std::find(names.begin(), names.end(), file.stem().string());
  if (named != names.end() && !file.has_parent_path() && !std::filesystem::exists(file, ignored)) {
    draft_.open(models::find_model(*named));
    go_to(0);
    return say(fmt::format("opened the built-in {}", *named), false);
  }
  try {
    draft_.open(models::read_model(file));
    known_file_ = file;
    go_to(0);
    say(fmt::format("opened {}", file.string()), false);
  } catch (const core::Error& error) {
    say(error.what(), true);
  }
}

/// A file that is there and was not opened here is replaced when a person asks for it twice.
void NetworkEditor::save() {
  const std::filesystem::path file = network_path(file_.data());
  std::error_code ignored;
  if (std::filesystem::exists(file, ignored) && file != known_file_ && file != warned_file_) {
    warned_file_ = file;
    return say(fmt::format("{} is there already; Save once more replaces it", file.string()), true);
  }
  try {
    save_network(draft_.network(), file);
    known_file_ = file;
    say(fmt::format("saved {}", file.string()), false);
  } catch (const core::Error& error) {
    say(error.what(), true);
  }
}

/// The last answer, what is wrong, why nothing can be applied, or what the edits come to.
NetworkEditor::Summary NetworkEditor::summary(const Frame& frame) const {
  if (!message_.empty()) return {message_, message_, refused_ ? frame.palette.error : frame.palette.text};
  if (draft_.fault()) return {fault_text(), fault_text(), frame.palette.error};
  std::string cost = parameters_text(*draft_.summary());
  if (draft_.changed()) {
    cost += fmt::format(", {} of {} carried over", draft_.summary()->carried,
                        count_text(draft_.summary()->tensors, "tensor"));
  }
  if (const std::string other = misfit(frame); !other.empty()) {
    return {other, fmt::format("{}\nSaved, it can begin a training of its own (--model).", cost),
            frame.palette.warning};
  }
  if (const std::string nothing = why_takes_nothing(frame); draft_.changed() && !nothing.empty())
    return {nothing, cost, frame.palette.warning};
  return {cost,
          fmt::format("{}: {}. Tensors of the same name and shape keep their weights; the others start anew.",
                      draft_.network().name, count_text(draft_.network().layers.size(), "layer")),
          frame.palette.text};
}

void NetworkEditor::draw_summary(const Frame& frame) const {
  const auto [text, tip, color] = summary(frame);
  next_in_row(frame, 16, kLeastSummary * frame.scale);
  const float room = ImGui::GetContentRegionAvail().x;
  const ImFont* const font =
      text_width(frame.fonts.text, text) <= room ? frame.fonts.text : frame.fonts.small;
  row_text(frame, font, color, ellipsize(font, text, room));
  trace_item("network.summary");
  tooltip(frame, text == tip ? tip : fmt::format("{}\n{}", text, tip));
}

// For tests: what is edited, what is wrong with it and what was answered.
void NetworkEditor::trace(const Frame& frame) {
  if (!trace_enabled()) return;
  const models::Model& network = draft_.network();
  std::string names;
  for (const models::Layer& layer : network.layers) {
    names.append(names.empty() ? "" : ",").append(json_string(layer.name));
  }
  std::string now = fmt::format(
      "\"view\":\"edit\",\"layers\":[{}],\"focus\":{},\"changed\":{},\"fault\":{},\"why_no_apply\":{},"
      "\"message\":{},\"summary\":{},\"misfit\":{},\"takes\":{},\"classes\":{}",
      names, json_string(focus_ < network.layers.size() ? network.layers[focus_].name : ""), draft_.changed(),
      json_string(draft_.fault() ? draft_.fault()->why : ""), json_string(why_no_apply(frame)),
      json_string(message_), json_string(summary(frame).text), json_string(misfit(frame)),
      json_string(network.reads_text()
                      ? fmt::format("text {}", network.width)
                      : models::to_string({network.height, network.width, network.channels})),
      network.classes);
  if (draft_.summary()) {
    now += fmt::format(",\"parameters\":{},\"tensors\":{},\"carried\":{}", draft_.summary()->parameters_after,
                       draft_.summary()->tensors, draft_.summary()->carried);
  }
  trace_change(traced_, "network", now);
}

}  // namespace warpscope::ui
