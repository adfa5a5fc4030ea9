#include "ui/panels/network/network_editor_rows.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/files/atomic_file.h"
#include "gpu/files/utf8.h"
#include "gpu/models/model_file.h"
#include "gpu/models/parameters.h"

namespace warpscope::ui {
namespace {

using models::Layer;
using models::LayerField;
using models::Model;

constexpr std::string_view kEnding = ".toml";
constexpr std::size_t kMostUndo = 200;
constexpr int kMostSide = 4096;  // models::check_model
constexpr int kUsualClasses = 10, kUsualLength = 1014;
constexpr models::Extent kUsualImage{32, 32, 3};
constexpr const char* kUsualAlphabet = "abcdefghijklmnopqrstuvwxyz0123456789 .,!?";

const std::vector<LayerField>& fields_of(const Layer& layer) {
  return models::row_of(layer.kind).fields;
}

/// Calls visit(layer, field) for each field that names an earlier layer.
template <class Visit>
void for_each_reference(Model& model, Visit visit) {
  for (Layer& layer : model.layers) {
    for (const LayerField& field : fields_of(layer)) {
      if (field.text != nullptr) visit(layer.*field.text);
    }
  }
}

models::Extent input_of(const Model& model) {
  return {model.height, model.width, model.channels};
}

/// Another alphabet; layers that told all characters apart tell all of the new ones (models::fit_layers).
void exchange_alphabet(Model& model, const std::string& alphabet) {
  const std::size_t before = files::decode_utf8(model.alphabet).size();
  model.alphabet = alphabet;
  for (Layer& layer : model.layers) {
    if (layer.reads_symbols() && std::cmp_equal(layer.symbols, before)) layer.symbols = 0;
  }
}

std::size_t learned(const Layer& layer, const models::Extent& input) {
  if (!models::has_parameters(layer)) return 0;
  std::size_t all = 0;
  for (const models::LayerParameter& each : models::row_of(layer.kind).parameters(layer, input)) {
    if (!each.learned) continue;
    std::size_t elements = 1;
    for (const int side : each.shape) elements *= static_cast<std::size_t>(side);
    all += elements;
  }
  return all;
}

std::optional<DraftFault> fault_of(const Model& model) {
  try {
    models::check_model(model);
    models::check_size(model);
  } catch (const models::BadLayer& error) {
    return DraftFault{error.layer, error.why};
  } catch (const core::BadInput& error) {
    // "model NAME has no layer", "model NAME: the output is": the name goes without saying.
    std::string why = error.what();
    const std::string begin = fmt::format("model {}", model.name);
    if (why.starts_with(begin)) why = "the network" + why.substr(begin.size());
    return DraftFault{std::nullopt, why};
  }
  return std::nullopt;
}

DraftSummary summary_of(const Model& before, const Model& after) {
  const models::ParameterLayout from = models::parameter_layout(before), to = models::parameter_layout(after);
  return {from.count, to.count, to.parameters.size(), models::shared_parameters(from, to).size()};
}

}  // namespace

std::vector<NetworkField> network_fields(const Model& network) {
  std::vector<NetworkField> fields;
  if (network.reads_text()) {
    fields = {{"length", "characters of a text: longer ones are cut", &Model::width, 1, kMostSide}};
  } else {
    fields = {{"height", "rows of an image, 1 in one dimension", &Model::height, 1, kMostSide},
              {"width", "columns of an image", &Model::width, 1, kMostSide},
              {"channels", "numbers of a pixel", &Model::channels, 1, kMostSide}};
  }
  if (network.loss == models::Loss::cross_entropy)
    fields.push_back({"classes", "that it tells apart, a logit each", &Model::classes, 1, 256});
  return fields;
}

double value_of(const LayerField& field, const Layer& layer) {
  if (field.number != nullptr) return layer.*field.number;
  if (field.real != nullptr) return static_cast<double>(layer.*field.real);
  return field.flag != nullptr && layer.*field.flag ? 1 : 0;
}

NetworkDraft::NetworkDraft(const Model& trained) : trained_(trained), network_(trained), name_(trained.name) {
  update();
}

void NetworkDraft::set_trained(const Model& trained) {
  if (trained_ == trained) return;
  const bool follows = !changed();
  trained_ = trained;
  if (follows) return take(trained);
  update();
}

bool NetworkDraft::differs_from(const Model& network) const {
  Model same = models::with_head(network, 0);
  same.name = network_.name;
  return network_ != same;
}

std::string NetworkDraft::called(std::size_t at) const {
  const std::string& name = network_.layers[at].name;
  return name.empty() ? fmt::format("layer {}", at + 1) : name;
}

std::string NetworkDraft::misfit(const std::string& data, std::size_t classes) const {
  if (network_.reads_text() != trained_.reads_text()) {
    return network_.reads_text() ? fmt::format("{} holds images, this network takes texts", data)
                                 : fmt::format("{} holds texts, this network takes images", data);
  }
  const models::Extent takes = input_of(network_), has = input_of(trained_);
  if (takes != has && network_.reads_text()) {
    return fmt::format("the texts of {} have a length of {}, this network takes {}", data, has.width,
                       takes.width);
  }
  if (takes != has) {
    return fmt::format("the images of {} are {}, this network takes {}", data, models::to_string(has),
                       models::to_string(takes));
  }
  if (network_.alphabet != trained_.alphabet)
    return fmt::format("the texts of {} were read by another alphabet than this network's", data);
  if (network_.loss != trained_.loss) {
    return network_.loss == models::Loss::mse ? "this training classifies, this network reconstructs"
                                              : "this training reconstructs, this network classifies";
  }
  if (network_.loss == models::Loss::mse || std::cmp_less_equal(classes, network_.classes)) return "";
  return fmt::format("{} has {} classes, this network tells {} apart", data, classes, network_.classes);
}

/// What was before is kept under the name that it began with.
void NetworkDraft::keep(std::vector<Model>& list) const {
  list.push_back(network_);
  list.back().name = name_;
}

void NetworkDraft::take(Model next) {
  name_ = next.name;
  network_ = std::move(next);
  update();
}

void NetworkDraft::edit(Model next) {
  if (next == network_) return;
  keep(past_);
  if (past_.size() > kMostUndo) past_.erase(past_.begin());
  future_.clear();
  if (next.name == network_.name) next.name = name_;
  take(std::move(next));
}

void NetworkDraft::update() {
  ++version_;
  models::fit_layers(network_);
  network_.head_classes = 0;
  network_.name = name_;
  network_ = models::with_name_of_its_own(std::move(network_));
  fault_ = fault_of(network_);
  find_sizes();
  summary_ = fault_ ? std::nullopt : std::optional(summary_of(models::with_head(trained_, 0), network_));
}

void NetworkDraft::find_sizes() {
  rows_.assign(network_.layers.size(), {});
  models::Extent extent = input_of(network_);
  const std::size_t end = fault_ && fault_->layer ? *fault_->layer : rows_.size();
  for (std::size_t i = 0; i < end; ++i) {
    rows_[i].input = extent;
    rows_[i].parameters = learned(network_.layers[i], extent);
    extent.pass(network_.layers[i]);
    rows_[i].output = extent;
  }
  if (end < rows_.size()) rows_[end].input = extent;
}

std::string NetworkDraft::free_name(const std::string& prefix) const {
  for (int number = 1;; ++number) {
    std::string name = fmt::format("{}{}", prefix, number);
    if (models::index_of(network_, name) == network_.layers.size()) return name;
  }
}

std::vector<std::string> NetworkDraft::earlier(std::size_t at) const {
  std::vector<std::string> names;
  const std::optional<models::Extent> size = at < rows_.size() ? rows_[at].input : std::nullopt;
  for (std::size_t i = 0; i < std::min(at, rows_.size()); ++i) {
    if (size && rows_[i].output == size) names.push_back(network_.layers[i].name);
  }
  return names;
}

void NetworkDraft::add(std::size_t at, models::LayerKind kind) {
  at = std::min(at, network_.layers.size());
  const models::LayerRow& row = models::row_of(kind);
  Layer layer;
  layer.kind = kind;
  layer.name = free_name(std::string(row.prefix));
  const std::optional<models::Extent> gets = at == 0 ? input_of(network_) : rows_[at - 1].output;
  for (const LayerField& field : row.fields) {
    if (!models::is_required(field)) {
      models::set_standard(field, layer);
    } else if (field.number != nullptr) {
      const double fits = std::clamp<double>(gets ? gets->channels : 1, field.least, field.most);
      layer.*field.number = static_cast<int>(fits);
    } else if (field.real != nullptr) {
      layer.*field.real = static_cast<float>(std::clamp(1.0, field.least, field.most));
    } else {
      // An output of the same size, but not what it gets anyway.
      for (std::size_t i = 0; i + 1 < at; ++i) {
        if (gets && rows_[i].output == gets) layer.*field.text = network_.layers[i].name;
      }
      if ((layer.*field.text).empty() && at > 0) layer.*field.text = network_.layers[at - 1].name;
    }
  }
  Model next = network_;
  next.layers.insert(next.layers.begin() + static_cast<std::ptrdiff_t>(at), std::move(layer));
  edit(std::move(next));
}

void NetworkDraft::remove(std::size_t at) {
  Model next = network_;
  next.layers.erase(next.layers.begin() + static_cast<std::ptrdiff_t>(at));
  edit(std::move(next));
}

void NetworkDraft::move_up(std::size_t at) {
  if (at == 0 || at >= network_.layers.size()) return;
  Model next = network_;
  std::swap(next.layers[at - 1], next.layers[at]);
  edit(std::move(next));
}

void NetworkDraft::move_down(std::size_t at) {
  move_up(at + 1);
}

void NetworkDraft::duplicate(std::size_t at) {
  Model next = network_;
  Layer copy = next.layers[at];
  copy.name = free_name(std::string(models::row_of(copy.kind).prefix));
  next.layers.insert(next.layers.begin() + static_cast<std::ptrdiff_t>(at) + 1, std::move(copy));
  edit(std::move(next));
}

std::string NetworkDraft::rename(std::size_t at, const std::string& name) {
  const std::string before = network_.layers[at].name;
  if (name == before) return "";
  if (models::index_of(network_, name) < network_.layers.size())
    return fmt::format("another layer is called {}", name);
  Model next = network_;
  next.layers[at].name = name;
  for_each_reference(next, [&](std::string& reference) {
    if (reference == before) reference = name;
  });
  edit(std::move(next));
  return "";
}

void NetworkDraft::set(std::size_t at, const LayerField& field, double value) {
  Model next = network_;
  Layer& layer = next.layers[at];
  if (field.number != nullptr) layer.*field.number = static_cast<int>(value);
  if (field.real != nullptr) layer.*field.real = static_cast<float>(value);
  if (field.flag != nullptr) layer.*field.flag = value != 0;
  edit(std::move(next));
}

void NetworkDraft::set(std::size_t at, const LayerField& field, const std::string& text) {
  Model next = network_;
  next.layers[at].*field.text = text;
  edit(std::move(next));
}

void NetworkDraft::set(const NetworkField& field, int value) {
  Model next = network_;
  next.*field.number = value;
  edit(std::move(next));
}

void NetworkDraft::take_texts(bool texts) {
  if (texts == network_.reads_text()) return;
  const bool as_trained = texts == trained_.reads_text();
  const models::Extent usual = texts ? models::Extent{1, kUsualLength, 1} : kUsualImage;
  const models::Extent input = as_trained ? input_of(trained_) : usual;
  Model next = network_;
  next.height = input.height;
  next.width = input.width;
  next.channels = input.channels;
  exchange_alphabet(next, as_trained ? trained_.alphabet : texts ? kUsualAlphabet : "");
  edit(std::move(next));
}

std::string NetworkDraft::set_alphabet(const std::string& alphabet) {
  if (alphabet.empty()) return "the alphabet has no characters";
  Model next = network_;
  exchange_alphabet(next, alphabet);
  edit(std::move(next));
  return "";
}

void NetworkDraft::set_loss(models::Loss loss) {
  if (loss == network_.loss) return;
  Model next = network_;
  next.loss = loss;
  const int classes = trained_.classes > 0 ? trained_.classes : kUsualClasses;
  next.classes = loss == models::Loss::cross_entropy ? classes : 0;
  edit(std::move(next));
}

void NetworkDraft::open(const Model& network) {
  edit(models::with_head(network, 0));
}

void NetworkDraft::undo() {
  if (past_.empty()) return;
  keep(future_);
  Model before = std::move(past_.back());
  past_.pop_back();
  take(std::move(before));
}

void NetworkDraft::redo() {
  if (future_.empty()) return;
  keep(past_);
  Model after = std::move(future_.back());
  future_.pop_back();
  take(std::move(after));
}

std::filesystem::path network_path(const std::string& typed) {
  const std::size_t begin = typed.find_first_not_of(" \t");
  if (begin == std::string::npos) return {};
  std::string path = typed.substr(begin, typed.find_last_not_of(" \t") - begin + 1);
  if (const char* const home = std::getenv("HOME"); home != nullptr && path.starts_with("~/")) {
    path = home + path.substr(1);
  }
  if (!path.ends_with(kEnding)) path += kEnding;
  return path;
}

void save_network(const Model& network, const std::filesystem::path& file) {
  const std::string text = models::to_toml(network, models::Style::for_people);
  models::parse_model(text, file.string(), file.stem().string());
  files::write_file_atomically(file, text);
}

}  // namespace warpscope::ui
