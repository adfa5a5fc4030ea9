#include "gpu/models/model_file.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include "gpu/files/text.h"
#include "gpu/files/utf8.h"

namespace warpscope::models {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostText = 1 << 20;
constexpr std::size_t kMostLayers = 1000;
constexpr std::size_t kMostName = 200;
constexpr int kRemarkColumn = 64;
constexpr int kMostSide = 4096;
constexpr std::string_view kEnding = ".toml";

struct LossName {
  Loss loss{};
  std::string_view name;
};
constexpr LossName kLosses[] = {{Loss::mse, "mse"}, {Loss::cross_entropy, "cross_entropy"}};

bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

/// Reads one file; its mistakes begin with where they are.
class Reader {
 public:
  Reader(std::string_view where, std::string_view name) : where_(where), name_(name) {}

  Model read(std::string_view text) {
    if (text.size() > kMostText) {
      throw core::BadInput(fmt::format("{}: {} bytes are too many for a network", where_, text.size()));
    }
    if (files::has_deep_key(text)) {
      throw core::BadInput(fmt::format("{}: a key has more than 100 parts; a network's have one", where_));
    }
    const toml::table root = parse(text);
    check_keys(root, {"name", "input", "text", "loss", "classes", "layers"}, "a network");
    Model model;
    model.name = std::string(name_);
    if (root.contains("name")) {
      model.name = name_in(
          root, fmt::format("the name of a network has 1 to {} bytes and no control characters", kMostName));
    }
    root.contains("text") ? read_text_input(root, model) : read_input(root, model);
    read_loss(root, model);
    read_layers(root, model);
    fit_layers(model);
    check(root, model);
    return model;
  }

 private:
  [[noreturn]] void refuse(const toml::source_region& at, const std::string& what) const {
    throw core::BadInput(at.begin.line == 0 ? fmt::format("{}: {}", where_, what)
                                            : fmt::format("{}:{}: {}", where_, at.begin.line, what));
  }

  toml::table parse(std::string_view text) const {
    try {
      return toml::parse(text);
    } catch (const toml::parse_error& error) {
      refuse(error.source(), files::one_sentence(error.description()));
    }
  }

  /// `of`: "a network", "conv2d".
  void check_keys(const toml::table& table, const std::vector<std::string_view>& keys,
                  std::string_view of) const {
    const toml::key* unknown = nullptr;
    for (const auto& [key, node] : table) {
      if (std::ranges::find(keys, key.str()) != keys.end()) continue;
      if (unknown == nullptr || key.source().begin.line < unknown->source().begin.line) unknown = &key;
    }
    if (unknown == nullptr) return;
    refuse(unknown->source(), fmt::format("{} has no '{}'; valid: {}", of, files::escaped(unknown->str()),
                                          fmt::join(keys, ", ")));
  }

  const toml::node& node_at(const toml::table& table, std::string_view key) const {
    if (const toml::node* const node = table.get(key)) return *node;
    refuse(table.source(), fmt::format("{} is missing", key));
  }

  std::string text_at(const toml::table& table, std::string_view key) const {
    const toml::node& node = node_at(table, key);
    const auto* const text = node.as_string();
    if (text == nullptr) refuse(node.source(), fmt::format("{} takes text in quotes", key));
    if (text->get().find('\0') != std::string::npos)
      refuse(node.source(), fmt::format("{} must not hold a null character", key));
    return text->get();
  }

  /// Refuses here what no sentence should repeat; check_model() looks at the other names of layers.
  std::string name_in(const toml::table& table, const std::string& objection) const {
    std::string name = text_at(table, "name");
    const bool in_one_line = std::ranges::none_of(name, is_control);
    if (!name.empty() && name.size() <= kMostName && in_one_line) return name;
    refuse(table.get("name")->source(), objection);
  }

  int number_in(const toml::node& node, std::string_view key, int least, int most) const {
    const auto* const number = node.as_integer();
    if (number == nullptr) refuse(node.source(), fmt::format("{} takes whole numbers", key));
    if (number->get() < least || number->get() > most) {
      refuse(node.source(),
             fmt::format("{} is {}, from {} to {} are valid", key, number->get(), least, most));
    }
    return static_cast<int>(number->get());
  }

  void read_input(const toml::table& root, Model& model) const {
    const toml::node& node = node_at(root, "input");
    const toml::array* const extents = node.as_array();
    if (extents == nullptr || extents->size() != 3) {
      refuse(node.source(), "input takes three numbers: height, width and channels of the images");
    }
    model.height = number_in(*extents->get(0), "input", 1, kMostSide);
    model.width = number_in(*extents->get(1), "input", 1, kMostSide);
    model.channels = number_in(*extents->get(2), "input", 1, kMostSide);
  }

  /// text = {length = 1014, alphabet = "abc"}
  void read_text_input(const toml::table& root, Model& model) const {
    const toml::node& node = node_at(root, "text");
    if (const toml::node* const input = root.get("input")) {
      refuse(input->source(), "a network takes images or texts: leave input or text away");
    }
    const toml::table* const text = node.as_table();
    if (text == nullptr) refuse(node.source(), "text looks like {length = 1014, alphabet = \"abc\"}");
    check_keys(*text, {"length", "alphabet"}, "text");
    model.height = model.channels = 1;
    model.width = number_in(node_at(*text, "length"), "length", 1, kMostSide);
    model.alphabet = text_at(*text, "alphabet");
    if (model.alphabet.empty()) refuse(text->get("alphabet")->source(), "the alphabet has no characters");
  }

  void read_loss(const toml::table& root, Model& model) const {
    const std::string name = text_at(root, "loss");
    const auto* const found = std::find_if(std::begin(kLosses), std::end(kLosses),
                                           [&](const LossName& row) { return row.name == name; });
    if (found == std::end(kLosses)) {
      refuse(root.get("loss")->source(),
             fmt::format("the loss '{}' is not known; valid: mse (reconstructs its input), cross_entropy",
                         name));
    }
    model.loss = found->loss;
    if (model.loss == Loss::cross_entropy) {
      model.classes = number_in(node_at(root, "classes"), "classes", 1, 256);
    } else if (const toml::node* const classes = root.get("classes")) {
      refuse(classes->source(), "classes belong to the loss cross_entropy");
    }
  }

  void read_layers(const toml::table& root, Model& model) {
    const toml::node& node = node_at(root, "layers");
    const toml::array* const layers = node.as_array();
    if (layers == nullptr || layers->empty()) refuse(node.source(), "layers takes a list of layers");
    if (layers->size() > kMostLayers) {
      refuse(node.source(),
             fmt::format("{} layers are too many, {} are the most", layers->size(), kMostLayers));
    }
    for (const toml::node& each : *layers) {
      const toml::table* const table = each.as_table();
      if (table == nullptr) refuse(each.source(), "a layer looks like {type = \"relu\"}");
      places_.push_back(table->source());
      model.layers.push_back(read_layer(*table));
    }
  }

  Layer read_layer(const toml::table& table) {
    const std::string type = text_at(table, "type");
    const LayerRow* const row = find_layer_row(type);
    if (row == nullptr) {
      std::vector<std::string_view> kinds;
      for (const LayerRow& each : layer_rows()) kinds.push_back(each.name);
      refuse(table.get("type")->source(),
             fmt::format("there is no layer '{}'; valid: {}", type, fmt::join(kinds, ", ")));
    }
    std::vector<std::string_view> keys{"type", "name"};
    for (const LayerField& field : row->fields) keys.push_back(field.key);
    check_keys(table, keys, row->name);
    Layer layer;
    layer.kind = row->kind;
    const int number = ++numbers_[row->prefix];
    layer.name = table.contains("name") ? name_in(table, std::string(kLayerNames))
                                        : fmt::format("{}{}", row->prefix, number);
    for (const LayerField& field : row->fields) read_field(table, field, layer);
    return layer;
  }

  void read_field(const toml::table& table, const LayerField& field, Layer& layer) const {
    const toml::node* const node = table.get(field.key);
    if (node == nullptr) {
      if (is_required(field))
        refuse(table.source(), fmt::format("layer {}: {} is missing", layer.name, field.key));
      set_standard(field, layer);
    } else if (field.number != nullptr) {
      layer.*field.number =
          number_in(*node, field.key, static_cast<int>(field.least), static_cast<int>(field.most));
      if (field.odd && layer.*field.number % 2 == 0)
        refuse(node->source(), fmt::format("{} must be odd", field.key));
    } else if (field.real != nullptr) {
      layer.*field.real = real_in(*node, field);
    } else if (field.flag != nullptr) {
      layer.*field.flag = flag_in(*node, field);
    } else {
      layer.*field.text = text_at(table, field.key);
    }
  }

  float real_in(const toml::node& node, const LayerField& field) const {
    const std::optional<double> number = node.value<double>();
    if (!node.is_number() || !number) refuse(node.source(), fmt::format("{} takes a number", field.key));
    if (*number >= field.least && *number <= field.most) return static_cast<float>(*number);
    refuse(node.source(),
           fmt::format("{} is {}, from {} to {} are valid", field.key, *number, field.least, field.most));
  }

  bool flag_in(const toml::node& node, const LayerField& field) const {
    if (field.on.empty()) {
      if (const auto* const flag = node.as_boolean()) return flag->get();
      refuse(node.source(), fmt::format("{} takes true or false", field.key));
    }
    const auto* const text = node.as_string();
    if (text != nullptr && (text->get() == field.on || text->get() == field.off))
      return text->get() == field.on;
    refuse(node.source(), fmt::format("{} takes \"{}\" or \"{}\"", field.key, field.off, field.on));
  }

  void check(const toml::table& root, const Model& model) const {
    try {
      check_model(model);
      check_size(model);
    } catch (const BadLayer& error) {
      refuse(places_[error.layer], fmt::format("layer {}: {}", model.layers[error.layer].name, error.why));
    } catch (const core::BadInput& error) {
      throw core::BadInput(fmt::format("{}: {}", where_, error.what()));
    }
    if (!is_code(model.name) || find_model(model.name) == model) return;
    const std::string what = fmt::format("{} is the name of a built-in network; choose another", model.name);
    refuse(root.contains("name") ? root.get("name")->source() : toml::source_region{}, what);
  }

  std::string_view where_, name_;
  std::map<std::string_view, int> numbers_;  ///< of layers, by LayerRow::prefix
  std::vector<toml::source_region> places_;  ///< of the layers
};

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (is_control(c)) {
      result += fmt::format("\\u{:04X}", static_cast<unsigned>(c));
    } else {
      result += c;
    }
  }
  return result + '"';
}

/// ", channels = 64", or "" of what is the default.
std::string field_text(const Layer& layer, const LayerField& field) {
  if (field.text != nullptr) return fmt::format(", {} = {}", field.key, quoted(layer.*field.text));
  if (is_standard(field, layer)) return "";
  if (field.flag != nullptr && !field.on.empty()) {
    return fmt::format(", {} = \"{}\"", field.key, layer.*field.flag ? field.on : field.off);
  }
  if (field.flag != nullptr) return fmt::format(", {} = {}", field.key, layer.*field.flag);
  if (field.real != nullptr) return fmt::format(", {} = {}", field.key, layer.*field.real);
  return fmt::format(", {} = {}", field.key, layer.*field.number);
}

/// "  {type = "relu", name = "relu1"},"
std::string layer_text(const Layer& layer) {
  const LayerRow& row = row_of(layer.kind);
  std::string text = fmt::format("  {{type = \"{}\", name = {}", row.name, quoted(layer.name));
  for (const LayerField& field : row.fields) text += field_text(layer, field);
  return text + "},";
}

/// "16x16x256, 7168 parameters"
std::string remark_on(const Layer& layer, const Extent& input) {
  Extent output = input;
  output.pass(layer);
  std::string text = to_string(output);
  if (!has_parameters(layer)) return text;
  std::int64_t parameters = 0;
  for (const LayerParameter& each : row_of(layer.kind).parameters(layer, input)) {
    if (!each.learned) continue;
    std::int64_t elements = 1;
    for (const int side : each.shape) elements *= side;
    parameters += elements;
  }
  return text + fmt::format(", {} parameters", parameters);
}

/// The line that says what the network takes.
std::string input_text(const Model& model, bool people) {
  if (!model.reads_text()) {
    return fmt::format("input = [{}, {}, {}]{}\n", model.height, model.width, model.channels,
                       people ? "  # height, width, channels" : "");
  }
  return fmt::format("text = {{length = {}, alphabet = {}}}{}\n", model.width, quoted(model.alphabet),
                     people ? "  # characters" : "");
}

}  // namespace

void check_size(const Model& model) {
  constexpr std::int64_t kMostParameters = std::int64_t{1} << 31;
  std::int64_t parameters = 0;
  Extent extent{model.height, model.width, model.channels};
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    if (has_parameters(model.layers[i])) {
      for (const LayerParameter& each : row_of(model.layers[i].kind).parameters(model.layers[i], extent)) {
        double elements = 1;  // does not overflow
        for (const int side : each.shape) elements *= side;
        if (elements + static_cast<double>(parameters) > static_cast<double>(kMostParameters)) {
          throw BadLayer(model, i,
                         fmt::format("more than {} parameters in all", fmt::group_digits(kMostParameters)));
        }
        parameters += static_cast<std::int64_t>(elements);
      }
    }
    extent.pass(model.layers[i]);
  }
}

Model parse_model(std::string_view text, std::string_view where, std::string_view name) {
  return Reader(where, name).read(text);
}

Model read_model(const fs::path& file) {
  std::string name = files::valid_utf8(file.stem().string());
  std::ranges::replace_if(name, is_control, '_');
  return parse_model(files::read_text(file, kMostText), file.string(), name);
}

std::string to_toml(const Model& model, Style style) {
  const bool people = style == Style::for_people;
  std::string text = people ? fmt::format(
                                  "# A network like {}; it is called what this file is, without its ending.\n"
                                  "# warpscope train --model FILE.toml trains it.\n",
                                  model.name)
                            : fmt::format("name = {}\n", quoted(model.name));
  text += input_text(model, people);
  for (const LossName& row : kLosses) {
    if (row.loss == model.loss) text += fmt::format("loss = \"{}\"\n", row.name);
  }
  if (model.loss == Loss::cross_entropy) text += fmt::format("classes = {}\n", model.classes);
  text += "layers = [\n";
  Extent extent{model.height, model.width, model.channels};
  for (const Layer& layer : model.layers) {
    const std::string line = layer_text(layer);
    const std::string remark = people ? remark_on(layer, extent) : "";
    text += remark.empty() ? line + "\n" : fmt::format("{:<{}} # {}\n", line, kRemarkColumn - 1, remark);
    extent.pass(layer);
  }
  return text + "]\n";
}

std::string text_of(const Model& model) {
  const Model bare = with_head(model, 0);
  return is_code(model.name) && find_model(model.name) == bare ? model.name : to_toml(bare);
}

Model with_name_of_its_own(Model model) {
  const bool known = is_code(model.name) || find_shipped(model.name) != nullptr;
  if (known && find_model(model.name) != with_head(model, 0)) model.name += "-edited";
  return model;
}

Model model_of(const std::string& text) {
  if (text.find('\n') != std::string::npos) return parse_model(text, "the network", "network");
  if (text.ends_with(kEnding)) return read_model(text);
  try {
    return find_model(text);
  } catch (const core::BadInput& error) {
    throw core::BadInput(fmt::format("{}, or a file that ends in {}", error.what(), kEnding));
  }
}

std::string name_in(const std::string& text) {
  if (text.find('\n') == std::string::npos) return text;
  try {
    return model_of(text).name;
  } catch (const core::BadInput&) {
    return text.substr(0, text.find('\n'));
  }
}

}  // namespace warpscope::models
