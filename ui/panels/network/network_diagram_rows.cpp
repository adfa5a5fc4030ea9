#include "ui/panels/network/network_diagram_rows.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "gpu/plan/model_figures.h"
#include "ui/text/numbers.h"

namespace warpscope::ui {
namespace {

void add_once(std::vector<std::string>& names, const std::string& name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

/// Finds the times of a layer by its name, also those of no layer of the model.
class Places {
 public:
  Places(const models::Model& model, StepTimes& times) : times_(times) {
    for (std::size_t i = 0; i < model.layers.size(); ++i) places_[model.layers[i].name] = i;
  }

  LayerTime& of(const std::string& layer) const {
    const auto found = places_.find(layer);
    if (found != places_.end()) return times_.layers[found->second];
    return layer == models::kHead ? times_.head : times_.rest;
  }

 private:
  StepTimes& times_;
  std::unordered_map<std::string_view, std::size_t> places_;
};

void add_call(const training::OpTiming& timing, LayerTime& time, bool& known) {
  time.microseconds += timing.microseconds;
  known = known && timing.microseconds > 0;
  time.ops.emplace_back(ops::to_string(timing.op));
  for (const training::OpPlace& covered : timing.covers) {
    if (covered.layer != timing.layer) add_once(time.inside, covered.layer);
  }
}

/// The tensors in the name of a part of memory, "conv1, relu1".
std::vector<std::string_view> names_in(std::string_view text) {
  constexpr std::string_view kBetween = ", ";
  std::vector<std::string_view> names;
  for (std::size_t end = 0; end != std::string_view::npos;) {
    end = text.find(kBetween);
    names.push_back(text.substr(0, end));
    if (end != std::string_view::npos) text.remove_prefix(end + kBetween.size());
  }
  return names;
}

/// The bytes that each layer's forward pass leaves for the backward pass, by row.
void add_memory(const plan::MemoryMap& map, Diagram& diagram) {
  const auto first = std::find_if(map.calls.begin(), map.calls.end(), [](const plan::MemoryCall& call) {
    return std::string_view(ops::to_string(call.op)).find(".backward") != std::string_view::npos;
  });
  const auto turn =
      static_cast<std::size_t>(first - map.calls.begin());  // the first call of the backward pass
  std::unordered_map<std::string_view, DiagramRow*> places;
  DiagramRow* rest = nullptr;
  for (DiagramRow& row : diagram.rows) {
    if (row.part == DiagramPart::input) continue;
    row.kept = 0;
    if (row.part == DiagramPart::layer) places[row.name] = &row;
    if (row.part == DiagramPart::head) places[models::kHead] = &row;
    if (row.part == DiagramPart::rest) rest = &row;
  }
  DiagramRow& total = diagram.rows.back();
  for (const plan::MemoryPart& part : map.parts) {
    if (part.kind != plan::MemoryKind::activations || part.first >= turn || part.last < turn) continue;
    const auto found = places.find(part.layer);
    DiagramRow& row = found == places.end() ? *rest : *found->second;
    *row.kept += part.bytes;
    row.tensors.push_back(part.name);
    *total.kept += part.bytes;
  }
  // Memory that layers use in turn belongs to the first; the others name it too.
  for (const plan::MemoryPart& part : map.parts) {
    if (part.kind != plan::MemoryKind::activations || part.first >= turn || part.last < turn) continue;
    for (const std::string_view name : names_in(part.name)) {
      const auto found = places.find(name);
      if (found != places.end() && name != part.layer) found->second->shares = part.layer;
    }
  }
}

/// Each line gets the lowest lane in which no other one runs beside it.
void place_links(std::vector<DiagramLink>& links, std::size_t& lanes) {
  std::sort(links.begin(), links.end(),
            [](const DiagramLink& a, const DiagramLink& b) { return a.to - a.from < b.to - b.from; });
  for (std::size_t i = 0; i < links.size(); ++i) {
    DiagramLink& link = links[i];
    const auto taken = [&](std::size_t lane) {
      return std::any_of(links.begin(), links.begin() + static_cast<std::ptrdiff_t>(i),
                         [&](const DiagramLink& other) {
                           return other.lane == lane && other.from < link.to && link.from < other.to;
                         });
    };
    while (taken(link.lane)) ++link.lane;
    lanes = std::max(lanes, link.lane + 1);
  }
}

void add_links(const models::Model& model, Diagram& diagram) {
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const models::Layer& layer = model.layers[i];
    for (const models::LayerField& field : models::row_of(layer.kind).fields) {
      if (field.text == nullptr) continue;
      const std::size_t from = models::index_of(model, layer.*field.text);
      if (from < i) diagram.links.push_back({from + 1, i + 1, 0});
    }
  }
  place_links(diagram.links, diagram.lanes);
}

DiagramRow& add_row(Diagram& diagram, DiagramPart part, std::string name) {
  DiagramRow& row = diagram.rows.emplace_back();
  row.part = part;
  row.name = std::move(name);
  return row;
}

std::size_t parameters_of_head(const models::Model& model) {
  std::size_t elements = 0;
  for (const models::Parameter& parameter : models::parameter_layout(model).parameters) {
    if (parameter.layer == model.layers.size()) elements += parameter.elements;
  }
  return elements;
}

}  // namespace

StepTimes step_times(const models::Model& model, const std::vector<training::OpTiming>& timings) {
  StepTimes times;
  times.layers.resize(model.layers.size());
  const Places places(model, times);
  std::unordered_map<const LayerTime*, bool> known;
  bool complete = !timings.empty();
  for (const training::OpTiming& timing : timings) {
    LayerTime& time = places.of(timing.layer);
    if (timing.covered_by) {
      if (timing.covered_by->layer != timing.layer) add_once(time.within, timing.covered_by->layer);
      continue;
    }
    add_call(timing, time, known.try_emplace(&time, true).first->second);
    times.microseconds += timing.microseconds;
    complete = complete && timing.microseconds > 0;
  }
  if (!complete) times.microseconds = 0;
  const auto settle = [&](LayerTime& time) {
    time.covered = time.ops.empty() && !time.within.empty();
    if (const auto found = known.find(&time); found != known.end() && !found->second) time.microseconds = 0;
  };
  for (LayerTime& time : times.layers) settle(time);
  settle(times.head);
  settle(times.rest);
  return times;
}

Diagram diagram_of(const models::Model& model, const core::DeviceInfo& device, const MemoryScene& scene) {
  const plan::ModelFigures figures = plan::figures_of(model);
  const auto of_step = [&](double flops) {
    return scene.batch > 0 ? std::optional<double>(scene.batch * flops) : std::nullopt;
  };
  Diagram diagram;
  add_row(diagram, DiagramPart::input, "input").extent =
      models::Extent{model.height, model.width, model.channels};
  double flops = 0;
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const plan::LayerFigures& each = figures.layers[i];
    DiagramRow& row = add_row(diagram, DiagramPart::layer, model.layers[i].name);
    row.kind = models::row_of(model.layers[i].kind).name;
    row.output = i + 1;
    row.extent = each.output;
    row.parameters = each.parameters;
    row.flops = of_step(each.step_flops);
    flops += each.step_flops;
  }
  std::size_t parameters = figures.parameters;
  if (scene.head_classes > 0) {
    DiagramRow& row = add_row(diagram, DiagramPart::head, models::kHead);
    row.extent = models::Extent{1, 1, scene.head_classes};
    row.parameters = parameters_of_head(models::with_head(model, scene.head_classes));
    parameters += *row.parameters;
  }
  add_row(diagram, DiagramPart::rest, "other ops").flops = of_step(figures.step_flops - flops);
  DiagramRow& total = add_row(diagram, DiagramPart::total, "whole step");
  total.parameters = parameters;
  total.flops = of_step(figures.step_flops);
  add_links(model, diagram);
  if (scene.batch > 0) {
    if (const auto map = step_memory(model, device, scene)) add_memory(*map, diagram);
  }
  return diagram;
}

const LayerTime* time_of(const StepTimes& times, const DiagramRow& row) {
  switch (row.part) {
    case DiagramPart::layer:
      return row.output <= times.layers.size() ? &times.layers[row.output - 1] : nullptr;
    case DiagramPart::head:
      return &times.head;
    case DiagramPart::rest:
      return &times.rest;
    case DiagramPart::input:
    case DiagramPart::total:
      break;
  }
  return nullptr;
}

std::string time_tip(const LayerTime& time) {
  std::string tip;
  const auto add = [&tip](const std::string& line) { tip += (tip.empty() ? "" : "\n") + line; };
  if (!time.ops.empty()) add(fmt::format("Calls of {}.", fmt::join(time.ops, ", ")));
  if (!time.inside.empty()) {
    add(fmt::format("They cover ops of {} too, whose time counts here.", fmt::join(time.inside, ", ")));
  }
  if (!time.within.empty()) {
    add(fmt::format("{} of its ops run in calls of {}, where their time counts.",
                    time.covered ? "All" : "Some", fmt::join(time.within, ", ")));
  }
  if (!time.covered && time.microseconds <= 0)
    add("Not measured yet: no step has been sampled with these variants.");
  return tip;
}

std::string kept_tip(const DiagramRow& row) {
  if (!row.kept) return "Not known: the steps of this run cannot be planned here.";
  std::string tip;
  if (!row.tensors.empty()) {
    tip = fmt::format("{} bytes: {}.", with_thousands(*row.kept), fmt::join(row.tensors, "; "));
  }
  if (!row.shares.empty()) {
    tip += fmt::format("{}Its output lies in the memory of {}, where it counts.", tip.empty() ? "" : "\n",
                       row.shares);
  }
  if (!tip.empty() || row.part == DiagramPart::total) return tip;
  return "The backward pass reads nothing that it wrote.";
}

}  // namespace warpscope::ui
