// warpscope models: the networks that are built in, and those in files.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "app/commands.h"
#include "app/options.h"
#include "app/table.h"
#include "gpu/charts/numbers.h"
#include "gpu/core/device.h"
#include "gpu/export/export.h"
#include "gpu/files/file.h"
#include "gpu/files/streams.h"
#include "gpu/files/text.h"
#include "gpu/models/model_file.h"
#include "gpu/plan/model_figures.h"
#include "gpu/settings/setting.h"

namespace warpscope::app {
namespace {

struct ModelsArguments {
  std::vector<std::string> models;  ///< names or files; none: all that are built in
  bool layers = false;              ///< a table of the layers of each
  std::string device = "auto";      ///< whose memory is told
  std::string precision;            ///< "" for the device's default
  int batch = 0;                    ///< 0: the device's default
  std::string json;                 ///< file, "-" for standard output instead of the text, "" for none
};

using models::Model;

/// Where and how a training is weighed.
struct Setup {
  core::DeviceInfo device;
  core::Precision precision{};
  int batch = 0;  ///< 0: each network's own

  int batch_of(const Model& model) const { return batch > 0 ? batch : plan::standard_batch(device, model); }
};

Setup setup_of(const ModelsArguments& arguments) {
  Setup setup;
  setup.device = core::open_device(arguments.device)->info();
  setup.precision = arguments.precision.empty() ? training::standard_precision(setup.device)
                                                : core::parse_precision(arguments.precision);
  setup.batch = arguments.batch;
  return setup;
}

/// "3.07 G" for people.
std::string flops_text(double flops) {
  constexpr const char* kUnits[] = {"", " k", " M", " G", " T", " P"};
  std::size_t unit = 0;
  for (; flops >= 1000 && unit + 1 < std::size(kUnits); ++unit) flops /= 1000;
  return fmt::format("{:.3g}{}", flops, kUnits[unit]);
}

std::string input_text(const Model& model) {
  if (model.reads_text()) return files::counted(model.width, "character");
  return to_string(models::Extent{model.height, model.width, model.channels});
}

std::string loss_text(const Model& model) {
  return model.loss == models::Loss::mse ? "mse" : files::counted(model.classes, "class", "classes");
}

std::string memory_text(const Model& model, const Setup& setup) {
  try {
    return bytes_text(static_cast<double>(
        plan::training_bytes(model, setup.device, setup.precision, setup.batch_of(model))));
  } catch (const core::Error& error) {
    return error.what();
  }
}

std::string table_of(const std::vector<Model>& list, const Setup& setup) {
  Table table({{"network", Align::left},
               {"input"},
               {"loss", Align::left},
               {"layers"},
               {"parameters"},
               {"FLOPs an image"},
               {"in training"},
               {"batch"},
               {"step memory"}});
  for (const Model& model : list) {
    const plan::ModelFigures figures = plan::figures_of(model);
    table.add({model.name, input_text(model), loss_text(model), fmt::format("{}", model.layers.size()),
               charts::with_thousands(static_cast<std::int64_t>(figures.parameters)),
               flops_text(figures.forward_flops), flops_text(figures.step_flops),
               fmt::format("{}", setup.batch_of(model)), memory_text(model, setup)});
  }
  return table.text();
}

std::string layers_of(const Model& model) {
  Table table({{"layer", Align::left},
               {"kind", Align::left},
               {"output", Align::left},
               {"parameters"},
               {"FLOPs an image"},
               {"in training"}});
  const plan::ModelFigures figures = plan::figures_of(model);
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const models::Layer& layer = model.layers[i];
    const plan::LayerFigures& each = figures.layers[i];
    table.add({layer.name, std::string(models::row_of(layer.kind).name), to_string(each.output),
               charts::with_thousands(static_cast<std::int64_t>(each.parameters)),
               flops_text(each.forward_flops), flops_text(each.step_flops)});
  }
  return table.text();
}

nlohmann::json json_of(const Model& model, const Setup& setup) {
  const plan::ModelFigures figures = plan::figures_of(model);
  nlohmann::json layers = nlohmann::json::array();
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const models::Extent& output = figures.layers[i].output;
    layers.push_back({{"name", model.layers[i].name},
                      {"kind", models::row_of(model.layers[i].kind).name},
                      {"output", {output.height, output.width, output.channels}},
                      {"parameters", figures.layers[i].parameters},
                      {"forward_flops", figures.layers[i].forward_flops},
                      {"step_flops", figures.layers[i].step_flops}});
  }
  nlohmann::json json{{"name", model.name},
                      {"input", {model.height, model.width, model.channels}},
                      {"classes", model.classes},
                      {"parameters", figures.parameters},
                      {"forward_flops", figures.forward_flops},
                      {"step_flops", figures.step_flops},
                      {"batch", setup.batch_of(model)},
                      {"precision", core::to_string(setup.precision)},
                      {"device", setup.device.id()},
                      {"layers", std::move(layers)}};
  if (model.reads_text()) json["alphabet"] = model.alphabet;
  try {
    json["step_bytes"] = plan::training_bytes(model, setup.device, setup.precision, setup.batch_of(model));
  } catch (const core::Error& error) {
    json["refusal"] = error.what();
  }
  return json;
}

int show(const ModelsArguments& arguments) {
  check_output_file("--json", arguments.json);
  std::vector<Model> list;
  for (const std::string& text : arguments.models) list.push_back(models::model_of(text));
  const bool all = list.empty();
  for (const std::string& name : all ? models::model_names() : std::vector<std::string>()) {
    list.push_back(models::find_model(name));
  }
  const bool file = list.size() == 1 && !all && !arguments.layers && arguments.json.empty();
  if (file) {
    const models::ShippedNetwork* const shipped = models::find_shipped(arguments.models.front());
    files::put_file(shipped != nullptr ? std::string(shipped->text)
                                       : models::to_toml(list.front(), models::Style::for_people));
    return 0;
  }
  const Setup setup = setup_of(arguments);
  if (arguments.json != "-") {
    if (!arguments.layers) files::put(table_of(list, setup));
    if (arguments.layers) {
      for (const Model& model : list)
        files::put(fmt::format("{}:\n{}\n", files::sayable(model.name), layers_of(model)));
    }
  }
  nlohmann::json report = nlohmann::json::array();
  for (const Model& model : list) report.push_back(json_of(model, setup));
  write_output(arguments.json, runs::json_text({{"models", std::move(report)}}));
  return 0;
}

}  // namespace

Run models(CLI::App& app) {
  const auto a = std::make_shared<ModelsArguments>();
  app.add_option("model", a->models,
                 "Built-in networks or FILE.toml (default: all that are built in); of a single one its file "
                 "is printed, to start from")
      ->type_name("MODEL");
  app.add_flag("--layers", a->layers, "A table of the layers instead");
  whole_numbers(*app.add_option("--batch", a->batch, "Images a step, for the memory (default: the device's)")
                     ->type_name("N"),
                1, 65536);
  app.add_option("--device", a->device, "Whose memory is told: auto, cpu or cuda:N")->capture_default_str();
  app.add_option("--precision", a->precision, "Arithmetic (default: the device's)");
  app.add_option("--json", a->json, "Write the result as JSON; - for standard output")->type_name("FILE");
  return [a] { return show(*a); };
}

}  // namespace warpscope::app
