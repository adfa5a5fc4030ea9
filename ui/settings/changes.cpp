#include "ui/settings/changes.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <string_view>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "gpu/files/text.h"
#include "gpu/settings/setting.h"
#include "ui/panels/kernels/own_kernels_rows.h"
#include "ui/panels/pictures/picture_figures.h"
#include "ui/panels/pictures/picture_rows.h"
#include "ui/panels/selection_text.h"
#include "ui/text/numbers.h"

namespace warpscope::ui {
namespace {

template <class... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};
template <class... Handlers>
Overloaded(Handlers...) -> Overloaded<Handlers...>;  // clang 14 does not deduce it for an aggregate

// Parts of a description, between semicolons.
class Words {
 public:
  void add(const std::string& what, const std::string& before, const std::string& after) {
    if (before == after) return;
    text_ += fmt::format("{}{} {} -> {}", text_.empty() ? "" : "; ", what, before, after);
  }
  void add(const std::string& what, const char* off, const char* on, bool before, bool after) {
    add(what, before ? on : off, after ? on : off);
  }
  std::string text() && { return std::move(text_); }

 private:
  std::string text_;
};

std::string choice_of(const plan::Selection& selection, ops::Op op) {
  const auto found = selection.variants.find(op);
  return found == selection.variants.end() ? std::string(plan::kAutomatic) : found->second;
}

std::set<ops::Op> ops_of(const plan::Selection& a, const plan::Selection& b) {
  std::set<ops::Op> chosen;
  for (const plan::Selection* const selection : {&a, &b}) {
    for (const auto& [op, name] : selection->variants) chosen.insert(op);
  }
  return chosen;
}

std::string describe_selection(const plan::Selection& before, const plan::Selection& after) {
  Words words;
  words.add("precision", std::string(core::to_string(before.precision)),
            std::string(core::to_string(after.precision)));
  for (const ops::Op op : ops_of(before, after)) {
    words.add(fmt::format("{}:", ops::to_string(op)), choice_of(before, op), choice_of(after, op));
  }
  return std::move(words).text();
}

std::string selection_options(const plan::Selection& before, const plan::Selection& after) {
  std::string text, items;
  if (before.precision != after.precision)
    text = fmt::format("--precision {}", core::to_string(after.precision));
  for (const ops::Op op : ops_of(before, after)) {
    if (choice_of(before, op) == choice_of(after, op)) continue;
    items += fmt::format("{}{}={}", items.empty() ? "" : ",", ops::to_string(op), choice_of(after, op));
  }
  if (!items.empty()) text += fmt::format("{}--select {}", text.empty() ? "" : " ", items);
  return text;
}

struct ShownCurve {
  bool PlotSettings::*shown;
  const char* what;
};

constexpr std::array kCurves{
    ShownCurve{&PlotSettings::show_train, "training curve:"},
    ShownCurve{&PlotSettings::show_test, "test curve:"},
    ShownCurve{&PlotSettings::show_validation, "validation curve:"},
    ShownCurve{&PlotSettings::show_before, "curve before the reset:"},
};

constexpr std::array kOver{"steps", "epochs", "time"};

// "Loss, Gradient norm"
std::string labels_of(const std::vector<Metric>& metrics) {
  std::string text;
  for (const Metric metric : metrics) {
    if (!text.empty()) text += ", ";
    text += facts_of(metric).label;
  }
  return text;
}

std::string describe_plot(const PlotSettings& before, const PlotSettings& after) {
  Words words;
  words.add("curves:", labels_of(before.metrics), labels_of(after.metrics));
  words.add("curves over:", kOver[static_cast<std::size_t>(before.over)],
            kOver[static_cast<std::size_t>(after.over)]);
  words.add("axis of the curves:", "linear", "logarithmic", before.logarithmic_x, after.logarithmic_x);
  words.add("smoothing over steps:", fmt::format("{:.0f}", before.smoothing_steps),
            fmt::format("{:.0f}", after.smoothing_steps));
  for (const ShownCurve& curve : kCurves) {
    words.add(curve.what, "hidden", "shown", before.*curve.shown, after.*curve.shown);
  }
  for (std::size_t i = 0; i < kMetrics; ++i) {
    words.add(fmt::format("value axis of {}:", facts_of(static_cast<Metric>(i)).label), "linear",
              "logarithmic", before.logarithmic[i], after.logarithmic[i]);
  }
  return std::move(words).text();
}

const models::Layer* find_layer(const models::Model& model, const std::string& name) {
  const std::size_t at = models::index_of(model, name);
  return at < model.layers.size() ? &model.layers[at] : nullptr;
}

// "network: without relu2, conv2 changed, with conv4", in the order of the layers.
std::string describe_network(const models::Model& before, const models::Model& after) {
  std::vector<std::string> parts;
  for (const models::Layer& layer : before.layers) {
    const models::Layer* const now = find_layer(after, layer.name);
    if (now == nullptr) parts.push_back("without " + layer.name);
    if (now != nullptr && !(*now == layer)) parts.push_back(layer.name + " changed");
  }
  for (const models::Layer& layer : after.layers) {
    if (find_layer(before, layer.name) == nullptr) parts.push_back("with " + layer.name);
  }
  constexpr std::size_t kMost = 4;
  if (parts.empty()) return fmt::format("network {} -> {}", before.name, after.name);
  if (parts.size() > kMost) return fmt::format("network: {} of its layers", parts.size());
  return fmt::format("network: {}", fmt::join(parts, ", "));
}

// "reset at step 12,345", also of one that is taken back.
std::string describe_training(const TrainingInUse& before, const TrainingInUse& after) {
  if (before == after) return "";
  const auto& [left, begun] =
      before.number < after.number ? std::tie(before, after) : std::tie(after, before);
  if (!begun.cause.empty()) return fmt::format("{} at step {}", begun.cause, with_thousands(left.step));
  if (!before.network || !after.network) return "another network";
  return describe_network(*before.network, *after.network);
}

std::string describe_kernel(const KernelInUse& before, const KernelInUse& after) {
  const auto text = [](int version) {
    return version == 0 ? std::string("not used") : fmt::format("version {}", version);
  };
  Words words;
  words.add(fmt::format("own kernel {}:", after.name), text(before.version), text(after.version));
  return std::move(words).text();
}

std::string zoom_text(int zoom) {
  return zoom == 0 ? "fit" : fmt::format("{}x", zoom);
}

std::string range_text(const ImageSettings& images, bool automatic) {
  return automatic ? "automatic" : fmt::format("{:g}", images.difference_range);
}

std::string describe_images(const ImageSettings& before, const ImageSettings& after) {
  Words words;
  words.add("size of the images:", zoom_text(before.zoom), zoom_text(after.zoom));
  words.add("difference:", "signed", "absolute", before.absolute_difference, after.absolute_difference);
  words.add("range of the difference:", range_text(before, before.automatic_range),
            range_text(after, after.automatic_range));
  words.add("range of the compared difference:", range_text(before, before.automatic_comparison_range),
            range_text(after, after.automatic_comparison_range));
  words.add("figure of the images:", kPictureMetrics[static_cast<std::size_t>(before.metric)],
            kPictureMetrics[static_cast<std::size_t>(after.metric)]);
  words.add("order of the images:", kPictureOrders[static_cast<std::size_t>(before.order)],
            kPictureOrders[static_cast<std::size_t>(after.order)]);
  words.add("rows of the images:", rows_text(before.rows), rows_text(after.rows));
  words.add("curve of the images:", "hidden", "shown", before.show_curve, after.show_curve);
  return std::move(words).text();
}

std::string describe_look(const Look& before, const Look& after) {
  Words words;
  const auto percent = [](const Look& look) { return fmt::format("{:.0f} %", 100 * look.zoom); };
  words.add("theme:", facts_of(before.theme).title, facts_of(after.theme).title);
  words.add("zoom:", percent(before), percent(after));
  words.add("text size:", std::to_string(before.text_size), std::to_string(after.text_size));
  return std::move(words).text();
}

std::string describe_view(const ViewChoices& before, const ViewChoices& after) {
  std::string text = describe_plot(before.plot, after.plot);
  const std::string panels = before.docking == after.docking ? "" : "layout of the panels";
  const std::string look = describe_look(before.look, after.look);
  for (const std::string& part : {describe_images(before.images, after.images), panels, look}) {
    if (!part.empty()) text += (text.empty() ? "" : "; ") + part;
  }
  return text;
}

std::string settings_options(const training::Configuration& before, const training::Configuration& after) {
  std::string text;
  for (const training::Setting& setting : training::settings()) {
    const training::Value *const from = before.find(setting.name), *const to = after.find(setting.name);
    if (to == nullptr || (from != nullptr && *from == *to)) continue;
    const std::string blank = text.empty() ? "" : " ";
    if (const auto* const on = std::get_if<bool>(to)) {
      text += fmt::format("{}--{}{}", blank, *on ? "" : "no-", option_of(setting));
    } else {
      text += fmt::format("{}--{} {}", blank, option_of(setting), training::to_string(*to));
    }
  }
  return text;
}

}  // namespace

bool same_kind(const Changeable& a, const Changeable& b) {
  if (a.index() != b.index()) return false;
  if (const auto* const kernel = std::get_if<KernelInUse>(&a))
    return kernel->file == std::get<KernelInUse>(b).file;
  const auto* const settings = std::get_if<training::Configuration>(&a);
  return settings == nullptr || settings->shares_name(std::get<training::Configuration>(b));
}

KernelInUse kernel_in(const training::UserKernels& kernels, const std::string& file) {
  for (const training::UserKernel& each : kernels.kernels) {
    if (each.file == file) return {file, std::string(short_name(each)), each.used()};
  }
  return {file, files::sayable(std::filesystem::path(file).stem().string()), 0};
}

Changeable value_in(const training::Snapshot& snapshot, const Changeable& like) {
  return std::visit(Overloaded{[&](const plan::Selection&) -> Changeable { return snapshot.selection; },
                               [&](const training::Configuration& names) -> Changeable {
                                 return values_of(*snapshot.settings, names);
                               },
                               [&](const TrainingInUse&) -> Changeable {
                                 return TrainingInUse{snapshot.training, snapshot.network, snapshot.step};
                               },
                               [&](const KernelInUse& kernel) -> Changeable {
                                 return kernel_in(*snapshot.user_kernels, kernel.file);
                               },
                               [](const ViewChoices& view) -> Changeable { return view; }},
                    like);
}

std::optional<training::Command> command_of(const Changeable& value) {
  using Result = std::optional<training::Command>;
  return std::visit(Overloaded{[](const plan::Selection& v) -> Result { return training::Select{v}; },
                               [](const training::Configuration& v) -> Result { return training::Change{v}; },
                               [](const TrainingInUse& v) -> Result { return training::ReturnTo{v.number}; },
                               [](const KernelInUse& v) -> Result {
                                 return training::UseKernel{v.file, v.version};
                               },
                               [](const ViewChoices&) -> Result { return std::nullopt; }},
                    value);
}

std::string describe(const Change& change) {
  const Changeable& after = change.after;
  return std::visit(
      Overloaded{
          [&](const plan::Selection& v) { return describe_selection(v, std::get<plan::Selection>(after)); },
          [&](const training::Configuration& v) {
            return training::describe_change(v, std::get<training::Configuration>(after));
          },
          [&](const TrainingInUse& v) { return describe_training(v, std::get<TrainingInUse>(after)); },
          [&](const KernelInUse& v) { return describe_kernel(v, std::get<KernelInUse>(after)); },
          [&](const ViewChoices& v) { return describe_view(v, std::get<ViewChoices>(after)); }},
      change.before);
}

std::string in_one_line(const Change& change, const core::DeviceInfo& device) {
  constexpr std::size_t kMost = 2;  // operations that are named
  const auto* const before = std::get_if<plan::Selection>(&change.before);
  if (before == nullptr) return describe(change);
  const auto& after = std::get<plan::Selection>(change.after);
  const auto ops = ops_of(*before, after);
  const auto changed = static_cast<std::size_t>(std::count_if(
      ops.begin(), ops.end(), [&](ops::Op op) { return choice_of(*before, op) != choice_of(after, op); }));
  if (changed <= kMost) return describe(change);
  constexpr std::string_view kMixed = "mixed";
  const std::string from = selection_word(*before, device), to = selection_word(after, device);
  Words words;
  words.add("precision", std::string(core::to_string(before->precision)),
            std::string(core::to_string(after.precision)));
  if (from == kMixed || to == kMixed) {
    words.add(fmt::format("{} operations:", changed), from, to == from ? "others" : to);
  } else {
    words.add("preset:", from, to);
  }
  return std::move(words).text();
}

std::string details_of(const Change& change, const core::DeviceInfo& device) {
  std::string text = describe(change);
  if (in_one_line(change, device) == text) return "";
  for (std::size_t at = text.find("; "); at != std::string::npos; at = text.find("; ", at))
    text.erase(at, 1)[at] = '\n';
  return text;
}

std::string option_text(const Change& change) {
  if (const auto* const selection = std::get_if<plan::Selection>(&change.before)) {
    return selection_options(*selection, std::get<plan::Selection>(change.after));
  }
  const auto* const before = std::get_if<training::Configuration>(&change.before);
  return before == nullptr ? "" : settings_options(*before, std::get<training::Configuration>(change.after));
}

}  // namespace warpscope::ui
