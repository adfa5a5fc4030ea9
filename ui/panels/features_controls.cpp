#include "ui/panels/features_controls.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

using features::Pooling;

constexpr std::array<const char*, 3> kPoolings{"whole", "mean", "max"};
constexpr std::array<const char*, 3> kGammas{"scale", "auto", "number"};

void label(const Frame& frame, const char* text, std::string_view tip) {
  row_text(frame, frame.fonts.text, frame.palette.muted, text);
  tooltip(frame, tip);
  ImGui::SameLine(value_left(frame));
}

/// The field of a number with a logarithmic slider. True if it is meant.
bool draw_number(const Frame& frame, ValueField& field, const ValueSpec& spec, double& value,
                 std::string& refusal) {
  const ValueEdit edit = field.draw(frame, spec, value, value_left(frame));
  if (!edit.refusal.empty()) refusal = edit.refusal;
  if (!edit.finished || edit.value == value) return false;
  refusal.clear();
  value = edit.value;
  return true;
}

}  // namespace

bool FeaturesControls::draw_layer(const Frame& frame, FeaturesController& controller) {
  const models::Model& model = controller.model();
  const std::string now = layer_of(controller.choice, model);
  label(frame, "layer", "Whose output are the features of an image. The first choice is the latent.");
  bool changed = false;
  if (begin_combo(frame, "features.layer", now, std::max(60.0f, ImGui::GetContentRegionAvail().x),
                  layer_note(layers_text(controller.choice, model), model))) {
    for (const models::Layer& layer : model.layers) {
      const std::string name = "features.layer=" + layer.name;
      if (!combo_item(frame, name.c_str(), layer.name.c_str(), layer.name == now,
                      layer_note(layer.name, model)))
        continue;
      changed = layer.name != now;
      controller.choice.layer = layer.name;
    }
    end_combo();
  }
  return changed;
}

bool FeaturesControls::draw_pooling(const Frame& frame, FeaturesController& controller) {
  FeatureChoice& choice = controller.choice;
  const models::Model& model = controller.model();
  const auto sides = sides_of(layer_of(choice, model), model);
  constexpr const char* kTip =
      "All numbers of the layer, or one of each of some equal windows: their mean or their largest.";
  label(frame, "pooling", kTip);
  if (sides.empty()) {
    caption(frame, "this layer has one place");
    return false;
  }
  auto pooling = static_cast<int>(choice.pooling);
  bool changed = segmented(frame, "features.pooling", kPoolings, &pooling, kTip);
  choice.pooling = static_cast<Pooling>(pooling);
  if (choice.pooling == Pooling::none) return changed;
  ImGui::SameLine(0, 8 * frame.scale);
  const features::FeatureLayer layer =
      features::parse_feature_layers(layers_text(choice, model), model).front();
  const auto text = [](int side) { return fmt::format("{0} x {0}", side); };
  if (begin_combo(frame, "features.side", text(layer.side), std::max(48.0f, ImGui::GetContentRegionAvail().x),
                  "How many windows: so many numbers of each channel are left.")) {
    for (const int side : sides) {
      const std::string name = fmt::format("features.side={}", side);
      if (!combo_item(frame, name.c_str(), text(side).c_str(), side == layer.side)) continue;
      changed = changed || side != layer.side;
      choice.side = side;
    }
    end_combo();
  }
  return changed;
}

/// A list of which any number can be chosen.
bool FeaturesControls::draw_beside(const Frame& frame, FeaturesController& controller) {
  FeatureChoice& choice = controller.choice;
  const models::Model& model = controller.model();
  constexpr const char* kTip =
      "Other layers whose numbers stand beside these, the largest of each of at most 4 x 4 windows.";
  label(frame, "beside", kTip);
  const std::string whole = layers_text(choice, model);
  const std::size_t plus = whole.find('+');
  const std::string now = plus == std::string::npos ? std::string("nothing") : whole.substr(plus + 1);
  bool changed = false;
  if (begin_combo(frame, "features.beside", now, std::max(60.0f, ImGui::GetContentRegionAvail().x),
                  plus == std::string::npos ? std::string(kTip) : layer_note(whole, model))) {
    if (combo_item(frame, "features.beside=nothing", "nothing", choice.beside.empty())) {
      changed = !choice.beside.empty();
      choice.beside.clear();
    }
    for (const models::Layer& layer : model.layers) {
      const std::string text = beside_text(layer.name, model);
      const auto found = std::find(choice.beside.begin(), choice.beside.end(), text);
      const std::string name = "features.beside=" + layer.name;
      if (!combo_item(frame, name.c_str(), text.c_str(), found != choice.beside.end(),
                      layer_note(text, model)))
        continue;
      changed = true;
      if (found == choice.beside.end()) {
        choice.beside.push_back(text);
      } else {
        choice.beside.erase(found);
      }
    }
    end_combo();
  }
  return changed;
}

bool FeaturesControls::draw_classifier(const Frame& frame, FeaturesController& controller) {
  const auto& now = classifiers::classifier_named(controller.choice.classifier);
  label(frame, "classifier", now.summary);
  bool changed = false;
  if (begin_combo(frame, "features.classifier", std::string(now.title),
                  std::max(60.0f, ImGui::GetContentRegionAvail().x), now.summary)) {
    for (const classifiers::ClassifierRow& row : classifiers::classifier_table()) {
      const std::string name = fmt::format("features.classifier={}", row.name);
      if (!combo_item(frame, name.c_str(), std::string(row.title).c_str(), row.name == now.name)) continue;
      changed = row.name != now.name;
      controller.choice.classifier = row.name;
    }
    end_combo();
  }
  return changed;
}

bool FeaturesControls::draw_c(const Frame& frame, FeaturesController& controller) {
  FeatureChoice& choice = controller.choice;
  double c = choice.c();
  if (c == 0) return false;
  ValueSpec spec;
  spec.name = "features.c";
  spec.label = std::string(1, 'C');  // GCC 12 at -O3 misreads the assignment of a literal
  spec.tip =
      "What an image on the wrong side of the border costs: the larger, the closer the classifier keeps to "
      "the training images. Let the slider go, and it learns anew.";
  spec.limits = {0, 1e9, true};
  spec.scale = c_scale(choice.classifier);
  if (!draw_number(frame, c_, spec, c, refusal_)) return false;
  choice.cs[choice.classifier] = c;
  return true;
}

bool FeaturesControls::draw_gamma(const Frame& frame, FeaturesController& controller) {
  FeatureChoice& choice = controller.choice;
  if (choice.classifier != "rbf") return false;
  constexpr const char* kTip =
      "How fast the kernel exp(-gamma |x - y|^2) falls with the distance. scale: 1 / (numbers x their "
      "variance); auto: "
      "1 / numbers; or a number.";
  label(frame, "gamma", kTip);
  auto gamma = static_cast<int>(choice.gamma);
  bool changed = segmented(frame, "features.gamma", kGammas, &gamma, kTip);
  if (changed && static_cast<GammaChoice>(gamma) == GammaChoice::number) {
    // It begins where the rule was.
    const auto& result = controller.state().result;
    if (result && result->gamma_value > 0) choice.gamma_number = result->gamma_value;
  }
  choice.gamma = static_cast<GammaChoice>(gamma);
  if (choice.gamma != GammaChoice::number) return changed;
  ValueSpec spec;
  spec.name = "features.gamma_number";
  spec.label = "";
  spec.tip = kTip;
  spec.limits = {0, 1e9, true};
  spec.scale = kGammaScale;
  return draw_number(frame, gamma_, spec, choice.gamma_number, refusal_) || changed;
}

void FeaturesControls::draw(const Frame& frame, FeaturesController& controller, ImVec2 size) {
  ImGui::BeginChild("features.controls", size, false);
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(8 * frame.scale, 3 * frame.scale));
  bool changed = draw_layer(frame, controller);
  changed = draw_pooling(frame, controller) || changed;
  changed = draw_beside(frame, controller) || changed;
  label(frame, "scaling", "Whether each number of the features is brought to mean 0 and deviation 1 first.");
  changed =
      toggle(frame, "features.standardize", "standardized", &controller.choice.standardize,
             "Each number of the features minus its mean, over its deviation, both of the training images") ||
      changed;
  changed = draw_classifier(frame, controller) || changed;
  changed = draw_c(frame, controller) || changed;
  changed = draw_gamma(frame, controller) || changed;
  if (!refusal_.empty()) {
    row_text(frame, frame.fonts.small, frame.palette.warning,
             ellipsize(frame.fonts.small, refusal_, ImGui::GetContentRegionAvail().x));
    tooltip(frame, refusal_);
  }
  ImGui::PopStyleVar();
  ImGui::EndChild();
  if (!changed) return;
  refusal_.clear();
  controller.judge_again();
}

}  // namespace warpscope::ui
