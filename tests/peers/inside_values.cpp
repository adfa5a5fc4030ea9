// What the window shows of the inside of a network, for torch_inside.py:
//
//   inside_values MODEL DATA WEIGHTS DEVICE SELECT BATCH IMAGE PLACES OUT
//
// MODEL, DATA, DEVICE and SELECT ("": the device's own choice) as `warpscope train` takes them, WEIGHTS as its --init.
// One step in FP32 of the first BATCH training images at the learning rate 0, which leaves the weights, is looked into:
// the inspection of test image IMAGE and the activations of all test images. PLACES: a line for each value to explain,
// OUTPUT Y X CHANNEL as inspect::Place counts. OUT becomes a safetensors file:
//
//   weights.NAME, gradients.NAME  as PyTorch has them
//   values.N                      (height, width, channels) of output N
//   means.N, maxima.N             (images, channels) of output N
//
// Prints {"layers": [the name of each output], "explanations": [inspect::Explanation of each place]}.

#include <cstdint>
#include <exception>
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "gpu/data/locate.h"
#include "gpu/data/requirements.h"
#include "gpu/engine/engine.h"
#include "gpu/files/safetensors.h"
#include "gpu/inspect/explain.h"
#include "gpu/models/model_file.h"
#include "gpu/models/parameters.h"
#include "gpu/observers/observer_table.h"

namespace {

using namespace warpscope;
using files::NamedTensor;
using nlohmann::json;

training::EngineOptions options_of(char** arguments, const core::DeviceInfo& device) {
  training::EngineOptions options;
  options.model = models::model_of(arguments[1]);
  options.init_file = arguments[3];
  plan::apply(options.selection, arguments[5], device);
  options.batch = std::stoi(arguments[6]);
  options.optimizer = training::defaults_of(ops::UpdateRule::sgd);
  options.shuffle = false;
  options.test_images = 1;
  return options;
}

std::shared_ptr<const data::DataSet> read_data(const std::string& source, const models::Model& model) {
  std::string notice;
  return std::make_shared<data::DataSet>(
      data::load(source, notice, {{model.height, model.width, model.channels}, model.classes, model.name}));
}

/// What `observer` sees of the step before.
training::Observations look(training::Engine& engine, training::Observer& observer,
                            const training::ObservationRequest& request) {
  observer.ask(request);
  if (!observer.start(engine.scene())) throw std::runtime_error("an observer refuses to look");
  training::Observations seen;
  while (!observer.take(seen)) std::this_thread::yield();
  return seen;
}

std::vector<inspect::Place> read_places(const std::string& path) {
  std::ifstream file(path);
  std::vector<inspect::Place> places;
  for (inspect::Place place; file >> place.output >> place.y >> place.x >> place.channel;) {
    places.push_back(place);
  }
  if (!file.eof()) throw std::runtime_error("cannot read " + path);
  return places;
}

json to_json(const inspect::Place& place) {
  return {place.output, place.y, place.x, place.channel};
}

json to_json(const inspect::Passage& passage) {
  return {{"kind", models::row_of(passage.kind).name},
          {"output", passage.output},
          {"before", passage.before},
          {"after", passage.after},
          {"from", to_json(passage.from)},
          {"window", passage.window},
          {"addend", passage.addend}};
}

json to_json(const inspect::Explanation& explanation) {
  json at = json::array(), inputs = json::array(), weights = json::array(), passages = json::array();
  for (const inspect::Term& term : explanation.terms) {
    at.push_back({term.y, term.x, term.channel});
    inputs.push_back(term.input);
    weights.push_back(term.weight);
  }
  for (const inspect::Passage& passage : explanation.passages) passages.push_back(to_json(passage));
  return {{"place", to_json(explanation.place)},
          {"value", explanation.value},
          {"sum", to_json(explanation.sum)},
          {"has_sum", explanation.has_sum},
          {"patch", {explanation.height, explanation.width, explanation.in_channels}},
          {"at", at},
          {"inputs", inputs},
          {"weights", weights},
          {"bias", explanation.bias},
          {"total", explanation.total},
          {"stored", explanation.stored},
          {"passages", passages}};
}

void append(std::vector<NamedTensor>& tensors, std::vector<NamedTensor> more) {
  for (NamedTensor& tensor : more) tensors.push_back(std::move(tensor));
}

/// How strongly the channels of output `number` answer to each test image.
std::vector<NamedTensor> activations(training::Engine& engine, training::Observer& observer,
                                     std::size_t number) {
  training::ObservationRequest request;
  request.activations_of = number;
  const auto seen = look(engine, observer, request).activations;
  const std::vector<std::int64_t> shape{static_cast<std::int64_t>(seen->images),
                                        static_cast<std::int64_t>(seen->channels)};
  return {{fmt::format("means.{}", number), shape, seen->means},
          {fmt::format("maxima.{}", number), shape, seen->maxima}};
}

void look_inside(char** arguments) {
  const std::shared_ptr<core::Device> device = core::open_device(arguments[4]);
  device->make_current();
  const training::EngineOptions options = options_of(arguments, device->info());
  const models::Model& model = options.model;
  training::Engine engine(options, read_data(arguments[2], model), device);
  engine.set_learning_rate(0);
  engine.step(false);
  const std::unique_ptr<training::Observer> inspector = training::make_inspector();
  training::ObservationRequest request;
  request.inspected_image = std::stoll(arguments[7]);
  const auto inspection = look(engine, *inspector, request).inspection;

  std::vector<NamedTensor> tensors = models::to_tensors(model, engine.parameters(), "weights.");
  append(tensors, models::to_tensors(model, engine.gradients(), "gradients."));
  json layers = json::array(), explanations = json::array();
  const std::unique_ptr<training::Observer> observer = training::make_activation_observer();
  for (std::size_t number = 0; number < inspection->outputs.size(); ++number) {
    const training::LayerOutput& output = inspection->outputs[number];
    layers.push_back(output.layer);
    tensors.push_back(
        {fmt::format("values.{}", number), {output.height, output.width, output.channels}, output.values});
    append(tensors, activations(engine, *observer, number));
  }
  const models::ParameterLayout layout = models::parameter_layout(model);
  for (const inspect::Place& place : read_places(arguments[8])) {
    request.inspected_parameters = inspect::output_of_sum(model, place.output);
    const auto of_place = look(engine, *inspector, request).inspection;
    explanations.push_back(to_json(inspect::explain(model, layout, *of_place, place)));
  }
  files::write_safetensors(arguments[9], tensors);
  std::cout << json{{"layers", layers}, {"explanations", explanations}} << "\n";
}

}  // namespace

int main(int count, char** arguments) {
  try {
    if (count != 10) throw std::runtime_error("takes nine arguments");
    look_inside(arguments);
  } catch (const std::exception& error) {
    std::cerr << "inside_values: " << error.what() << "\n";
    return 1;
  }
  return 0;
}
