// Steps parameters with the gradients of a file, as training does at the end of each step, for
// torch_optimizers.py:
//
//   optimizer_steps DEVICE VARIANT RULE PARAMETERS STEPS FILE_IN FILE_OUT [SETTING=VALUE ...]
//
// FILE_IN: the parameters, then the gradients of each step; FILE_OUT: after each step the parameters, the
// first and the second state (0 where the rule has none) and the step's gradient norm; all FP32. SETTINGs are
// fields of StepControl: rate, first_decay, second_decay, epsilon, weight_decay, clip_norm, clip_value,
// loss_scale (the gradients get multiplied by it).
//
//   optimizer_steps rules    prints the names of all rules

#include <cstring>
#include <exception>
#include <fstream>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "gpu/ops/step/step.h"
#include "gpu/verify/op_run.h"

namespace {

using namespace warpscope;
using ops::Name;
using ops::Op;
using ops::step::StepControl;
using verify::Bytes;
using Floats = std::vector<float>;

StepControl settings(int count, char** texts) {
  StepControl control;
  control.epoch_size = 1;
  const std::map<std::string, float*> fields{
      {"rate", &control.learning_rate},        {"first_decay", &control.first_decay},
      {"second_decay", &control.second_decay}, {"epsilon", &control.epsilon},
      {"weight_decay", &control.weight_decay}, {"clip_norm", &control.clip_norm},
      {"clip_value", &control.clip_value},     {"loss_scale", &control.loss_scale}};
  for (int i = 0; i < count; ++i) {
    const std::string text = texts[i];
    const std::size_t equals = text.find('=');
    *fields.at(text.substr(0, equals)) = static_cast<float>(std::stod(text.substr(equals + 1)));
  }
  return control;
}

Bytes bytes_of(const void* data, std::size_t size) {
  Bytes bytes(size);
  std::memcpy(bytes.data(), data, size);
  return bytes;
}

Bytes zeros(std::int64_t floats) {
  return Bytes(static_cast<std::size_t>(floats) * sizeof(float));
}

/// One op of a training step at one shape.
class Launch {
 public:
  Launch(const std::shared_ptr<core::Device>& device, const std::string& variant, Op op,
         const ops::OpShape& shape)
      : run_(chosen(op, device->kind(), variant), device, shape, core::Precision::fp32) {}

  verify::Operands operator()(const verify::Operands& before) {
    verify::Operands after = run_.run(before);
    if (!run_.fault().empty()) throw std::runtime_error(run_.fault());
    return after;
  }

 private:
  /// step.record has one variant on CUDA: it stands in where `name` is another.
  static const ops::Variant& chosen(Op op, core::DeviceKind kind, const std::string& name) {
    const ops::Variant* found = find_variant(*ops::built_in_variants(), op, kind, name);
    if (found == nullptr && op == Op::step_record)
      found = variants_of(*ops::built_in_variants(), op, kind).front();
    if (found == nullptr) throw std::runtime_error("no variant " + name);
    return *found;
  }
  verify::OpRun run_;
};

void append(std::ofstream& file, const Bytes& bytes, std::int64_t count) {
  const Bytes& whole = bytes.empty() ? zeros(count) : bytes;
  file.write(reinterpret_cast<const char*>(whole.data()), static_cast<std::streamsize>(whole.size()));
}

void step_through(char** arguments, StepControl control) {
  const auto device = core::open_device(arguments[1]);
  const std::string variant = arguments[2];
  const ops::OpShape shape{.count = std::stoll(arguments[4]), .rule = ops::parse_update_rule(arguments[3])};
  const int steps = std::stoi(arguments[5]);
  Launch norm(device, variant, Op::gradients_norm, shape);
  Launch update(device, variant, Op::optimizer_update, shape);
  Launch record(device, variant, Op::step_record, {.batch = 1, .count = 1});
  std::ifstream input(arguments[6], std::ios::binary);
  std::ofstream output(arguments[7], std::ios::binary);
  Floats values(static_cast<std::size_t>(shape.count));
  const std::size_t size = values.size() * sizeof(float);
  const auto read = [&] {
    input.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(size));
  };
  read();
  Bytes parameters = bytes_of(values.data(), size);
  Bytes first = zeros(ops::states_of(shape.rule) >= 1 ? shape.count : 0);
  Bytes second = zeros(ops::states_of(shape.rule) >= 2 ? shape.count : 0);
  const float metrics[] = {1, 0, 0};
  const ops::step::StepRecord empty;
  for (int i = 0; i < steps; ++i) {
    read();
    for (float& gradient : values) gradient *= control.loss_scale;
    verify::Operands before;
    before[Name::gradients] = bytes_of(values.data(), size);
    before[Name::control] = bytes_of(&control, sizeof(control));
    const auto measured = norm(before);
    before[Name::control] = measured[Name::control];
    before[Name::norm_parts] = measured[Name::norm_parts];
    before[Name::metrics] = bytes_of(metrics, sizeof(metrics));
    before[Name::parameters] = parameters;
    before[Name::first_state] = first;
    before[Name::second_state] = second;
    const auto after = update(before);
    parameters = after[Name::parameters];
    first = after[Name::first_state];
    second = after[Name::second_state];
    before[Name::statistics] = after[Name::statistics];
    before[Name::ring] = bytes_of(&empty, sizeof(empty));
    const auto noted = record(before);
    std::memcpy(&control, noted[Name::control].data(), sizeof(control));
    ops::step::StepRecord made;
    std::memcpy(&made, noted[Name::ring].data(), sizeof(made));
    append(output, parameters, shape.count);
    append(output, first, shape.count);
    append(output, second, shape.count);
    append(output, bytes_of(&made.gradient_norm, sizeof(float)), 1);
  }
  if (!input || !output) throw std::runtime_error("cannot read or write the files");
}

}  // namespace

int main(int count, char** arguments) {
  try {
    if (count == 2 && arguments[1] == std::string("rules")) {
      for (const ops::RuleRow& row : ops::kUpdateRules) std::cout << row.name << "\n";
      return 0;
    }
    if (count < 8) throw std::runtime_error("too few arguments");
    step_through(arguments, settings(count - 8, arguments + 8));
  } catch (const std::exception& error) {
    std::cerr << "optimizer_steps: " << error.what() << "\n";
    return 1;
  }
  return 0;
}
